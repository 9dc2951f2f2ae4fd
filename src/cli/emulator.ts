import { readFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { startEmulator } from '../../emulator/emulator.ts'
import { stopSignal, UsageError } from './failure.ts'
import { print } from './output.ts'

/** `dirsync emulator`: the stand-alone platform. */
export function emulatorCommand(program: Command): void {
  program
    .command('emulator')
    .description('run the stand-alone platform, for trials and tests')
    .option('--port <port>', 'port to listen on; 0: any free one', portOf, 8090)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--appid <id>', 'application id that it accepts', 'demo-application')
    .option('--secret <secret>', 'secret of the application')
    .option('--secret-file <file>', 'file with the secret')
    .addOption(
      new Option('--sign-algorithm <name>', 'signature algorithm')
        .choices(['sha256', 'sha1', 'sha512'])
        .default('sha256'),
    )
    .option('--strict', 'refuse unknown parameters and body members; without it, they are ignored')
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
    .action(async ({ port, host, appid, secret, secretFile, signAlgorithm, strict, data, seed }) => {
      const appSecret = secretFile && !secret ? (await textOf('--secret-file', secretFile)).trim() : secret
      if (!appSecret)
        throw new UsageError('give the secret of the application with --secret or --secret-file')
      const emulator = await startEmulator({
        ...{ port, host, appId: appid, appSecret, signAlgorithm, strict, data },
        seed: seed && seedOf(await textOf('--seed', seed), seed),
      })
      print(`emulator listens on ${emulator.url} for application ${appid}`)
      await stopSignal()
      await emulator.close()
    })
}

function portOf(text: string): number {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new UsageError(`--port holds ${JSON.stringify(text)} but should be a number from 0 to 65535`)
  return port
}

async function textOf(option: string, file: string): Promise<string> {
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
    throw new UsageError(`--seed holds ${JSON.stringify(file)} but that file is not JSON`, { cause })
  }
}
