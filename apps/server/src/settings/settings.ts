import { z } from 'zod';
import { loadSettings, modelSettings, readModel } from './model-settings.ts';
import { readList, readNumber, readSwitch, setting } from './setting.ts';
import { count, seconds, secondsOrNever, size } from './values.ts';

const models = 'Models:';
const network = 'Network:';
const limits = 'Limits:';
const data = 'Data:';
const machine = 'Machine:';
const logs = 'Logs:';

/** All settings, as the config file has them. Flags and environment variables are named after the keys. */
export const settingsSchema = z.strictObject({
  models: setting(z.array(modelSettings).default([]), {
    group: models,
    argument: '<[name=]source>',
    description:
      'a model: catalogue name, Hugging Face repository, or path, after the name that requests use, if it is to be another; may be repeated, the first is the default',
    read: readModel,
  }),
  ...loadSettings,
  preload: setting(z.boolean().optional(), {
    group: models,
    argument: '<on|off>',
    description: 'load all models at the start rather than each when it is first asked for',
    defaultText: 'on with one model',
    read: readSwitch,
  }),
  idleTimeout: setting(secondsOrNever.default(0), {
    group: models,
    argument: '<seconds>',
    description: 'unload models that nobody has used for so long; 0 is never',
    read: readNumber,
  }),
  host: setting(z.string().min(1).default('127.0.0.1'), {
    group: network,
    argument: '<address>',
    description: 'address to listen on; 0.0.0.0 or :: for all of this machine',
  }),
  port: setting(z.int().min(0).max(65_535).default(8080), {
    group: network,
    argument: '<n>',
    description: 'port to listen on; 0 takes any free one',
    read: readNumber,
  }),
  page: setting(z.boolean().default(true), {
    group: network,
    argument: '<on|off>',
    description: 'serve the chat page at /',
    read: readSwitch,
  }),
  apiKeyFile: setting(z.string().min(1).optional(), {
    group: network,
    argument: '<file>',
    description:
      'API keys of which requests must carry one, one a line; also in HEARTH_API_KEYS, between commas, but never in a flag: command lines are public',
  }),
  allowedOrigins: setting(z.array(z.string().min(1)).default([]), {
    group: network,
    argument: '<list>',
    description: 'origins of web pages that may use the server, between commas: https://example.com; * for all',
    read: readList,
  }),
  allowedHosts: setting(z.array(z.string().min(1)).default([]), {
    group: network,
    argument: '<list>',
    description: 'names under which the server is addressed besides localhost and IP addresses; * for all',
    read: readList,
  }),
  tlsCertificate: setting(z.string().min(1).optional(), {
    group: network,
    argument: '<file>',
    description: 'certificate chain in PEM, for HTTPS',
  }),
  tlsKey: setting(z.string().min(1).optional(), {
    group: network,
    argument: '<file>',
    description: 'private key of the certificate in PEM',
  }),
  maxBody: setting(size.default(4 * 2 ** 20), {
    group: limits,
    argument: '<size>',
    description: 'most bytes of the body of a request',
    defaultText: '4MiB',
  }),
  maxChoices: setting(count.default(64), {
    group: limits,
    argument: '<n>',
    description: 'most texts that one request may ask for: prompts times choices',
    read: readNumber,
  }),
  requestTimeout: setting(seconds.default(600), {
    group: limits,
    argument: '<seconds>',
    description: 'how long an answer may take, waiting included',
    read: readNumber,
  }),
  bodyTimeout: setting(seconds.default(30), {
    group: limits,
    argument: '<seconds>',
    description: 'how long a request may take to arrive',
    read: readNumber,
  }),
  stallTimeout: setting(seconds.default(60), {
    group: limits,
    argument: '<seconds>',
    description: 'how long a client may leave its stream unread',
    read: readNumber,
  }),
  draftTimeout: setting(seconds.default(60), {
    group: limits,
    argument: '<seconds>',
    description: 'how long what was computed of a message that is being written is kept after its last use',
    read: readNumber,
  }),
  drainTimeout: setting(secondsOrNever.default(30), {
    group: limits,
    argument: '<seconds>',
    description: 'how long requests may go on after SIGTERM or Ctrl-C; then they are cut',
    read: readNumber,
  }),
  conversations: setting(z.string().min(1).optional(), {
    group: data,
    argument: '<file|off>',
    description:
      'where the conversations of the page are kept, which whoever may use the server can read; off for nowhere',
    defaultText: "a file of the user's, but nowhere when other machines can reach the address",
  }),
  backend: setting(z.enum(['auto', 'cpu', 'reference']).default('auto'), {
    group: machine,
    argument: '<kind>',
    description: 'what computes: the C++ kernels (cpu), the TypeScript reference, or the first that works (auto)',
  }),
  threads: setting(count.optional(), {
    group: machine,
    argument: '<n>',
    description: 'threads of the C++ kernels',
    defaultText: 'by the processors and quotas of this process',
    read: readNumber,
  }),
  fileAccess: setting(z.enum(['map', 'read']).default('map'), {
    group: machine,
    argument: '<how>',
    description: 'map the files of models, or read them in large blocks (faster on network disks)',
  }),
  logLevel: setting(z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'), {
    group: logs,
    argument: '<level>',
    description: 'debug, info, warn, error or silent; the log goes to standard error',
  }),
  logPrompts: setting(z.boolean().default(false), {
    group: logs,
    argument: '[on|off]',
    description: 'write the bodies of requests into the log, at level debug',
    read: readSwitch,
  }),
});

export type Settings = z.output<typeof settingsSchema>;
export type SettingKey = keyof Settings;

/** Every key, in the order of the help. */
export const settingKeys = Object.keys(settingsSchema.shape) as SettingKey[];
