import { readFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { stopSignal, UsageError } from './failure.ts'

/** `dirsync emulator`: the stand-alone platform. */
export function emulatorCommand(program: Command): void {
  program
    .command('emulator')
    .summary('run the stand-alone platform, for trials')
    .description('run the stand-alone platform, for trials and tests')
    .option('--port <port>', 'port to listen on; 0: any free one', '8090')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--appid <id>', 'application id that it knows', 'demo-application')
    .option('--secret <secret>', 'secret of the application')
    .option('--secret-file <file>', 'file with the secret')
    .addOption(
      new Option('--sign-algorithm <name>', 'signature algorithm')
        .choices(['sha256', 'sha1', 'sha512'])
        .default('sha256'),
    )
    .option('--strict', 'refuse parameters and body members that it does not know; else they are ignored')
    .option('--data <file>', 'keep the state in this file; without it, in memory')
    .option('--seed <file>', 'JSON file with what an empty platform holds at first')
    .addHelpText(
      'after',
      `
Examples:
  dirsync emulator --secret s3cret --seed examples/hr/platform.json
  curl -s localhost:8090/_emulator/stats
  curl -s localhost:8090/_emulator/orders/pay \\
    -d '{"out_trade_no": "demo-application-1060"}'
  curl -s localhost:8090/_emulator/notifications
  curl -s localhost:8090/_emulator/clock -d '{"offsetSeconds": 3600}'`,
    )
    .action(async options => {
      const secret =
        options.secret ??
        (options.secretFile ? (await text('--secret-file', options.secretFile)).trim() : undefined)
      if (!secret) throw new UsageError('give the secret of the application with --secret or --secret-file')
      const { startEmulator } = await import('../../emulator/emulator.ts')
      const emulator = await startEmulator({
        port: portOf(options.port),
        host: options.host,
        appId: options.appid,
        appSecret: secret,
        signAlgorithm: options.signAlgorithm,
        strict: options.strict,
        data: options.data,
        seed: options.seed ? seedOf(await text('--seed', options.seed), options.seed) : undefined,
      })
      console.log(`emulator listens on ${emulator.url} for application ${options.appid}`)
      await stopSignal()
      await emulator.close()
    })
}

function portOf(value: string): number {
  const port = Number(value)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new UsageError(`--port holds ${JSON.stringify(value)} but should be a number from 0 to 65535`)
  return port
}

async function text(option: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`${option} holds ${JSON.stringify(file)} but that file cannot be read`, { cause })
  }
}

function seedOf(json: string, file: string): object {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw new UsageError(`--seed holds ${JSON.stringify(file)} but that file is no JSON`, { cause })
  }
}
