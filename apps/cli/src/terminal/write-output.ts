/** Writes to standard output, and waits while its reader is slower than we are. */
export async function writeOutput(text: string): Promise<void> {
  if (!process.stdout.write(text)) await new Promise((resolve) => process.stdout.once('drain', resolve));
}
