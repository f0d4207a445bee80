import { Command, Option } from 'commander';
import { readSettings } from './settings/read-settings.ts';
import { addSettingOptions, givenSettings } from './settings/setting-options.ts';
import { serverVersion } from './version.ts';

const examples = `
A flag goes before its environment variable, the variable before the config file, the file before the default. The file is
a JSON object with the names of the flags in camel case ("maxQueued"); each model in "models" may have settings of its own.

Examples:
  NAME                                        the default model, at http://127.0.0.1:8080/v1
  NAME -m smollm2:135m --port 9000
  NAME -m small=smollm2:135m -m code=./qwen.gguf --idle-timeout 600
  NAME -m ./model.gguf --context 8192 --cache-memory 2GiB --max-sequences 16
  NAME --host 0.0.0.0 --allowed-hosts models.example.com --api-key-file ./keys.txt
  NAME --tls-certificate ./cert.pem --tls-key ./key.pem
  NAME --config ./hearth.json`;

/**
 * The command that serves models to OpenAI clients.
 * @param signal fires when the server is to shut down
 * @param options `usedAs` is what is typed to run it
 */
export function serveCommand(signal: AbortSignal, { usedAs = 'hearth serve' } = {}): Command {
  const command = new Command(usedAs.split(' ').at(-1))
    .description('Serve models over HTTP, to whatever speaks to OpenAI.')
    .addOption(new Option('--config <file>', 'settings in JSON').env('HEARTH_CONFIG'));
  addSettingOptions(command).addHelpText('after', examples.replaceAll('NAME', usedAs));
  return command.action(async ({ config }: { config?: string }) => {
    const settings = await readSettings(givenSettings(command), config || undefined);
    // Not before it is needed: other commands of the same program, and --help, go without.
    const { serve } = await import('./serve.ts');
    await serve(settings, signal);
  });
}

/** The same as a program of its own. */
export function serverProgram(signal: AbortSignal): Command {
  return serveCommand(signal, { usedAs: 'hearth-server' })
    .version(serverVersion())
    .showHelpAfterError('Run with --help for usage.')
    .exitOverride();
}
