import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { startEmulator } from '../../emulator/emulator.ts'
import { environment, loadApplication } from '../config.ts'
import { message } from '../texts/message.ts'
import { wrongOption } from './arguments.ts'
import { stopSignal } from './failure.ts'
import { said } from './language.ts'
import { print } from './output.ts'
import { orElse } from './settings.ts'

/** `dirsync emulator`: the stand-alone platform. */
export function emulatorCommand(program: Command): void {
  program
    .command('emulator')
    .description('run the stand-alone platform, for trials and tests')
    .option('--port <port>', 'port to listen on; 0: any free one', portOf, 8090)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option(
      '--appid <id>',
      'application id that it accepts; without it, PLATFORM_APP_ID, or demo-application',
    )
    .option(
      '--secret <secret>',
      'secret of the application; without it, PLATFORM_APP_SECRET, or a random one, which it prints',
    )
    .option('--secret-file <file>', 'file with the secret')
    .addOption(
      new Option(
        '--sign-algorithm <name>',
        'signature algorithm; without it, PLATFORM_SIGN_ALGORITHM, or sha256',
      ).choices(['sha256', 'sha1', 'sha512']),
    )
    .option(
      '--strict',
      'refuse unknown parameters and unknown or null body members, which are ignored without it, and calls without enterprise_code where only other enterprises hold something',
    )
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
      const given = {
        PLATFORM_APP_ID: appid,
        PLATFORM_APP_SECRET: secretFile && !secret ? await secretOf(secretFile) : secret,
        PLATFORM_SIGN_ALGORITHM: signAlgorithm,
      }
      const made = randomBytes(16).toString('hex')
      const {
        PLATFORM_APP_ID: appId,
        PLATFORM_APP_SECRET: appSecret,
        PLATFORM_SIGN_ALGORITHM,
      } = loadApplication(
        orElse(orElse(given, environment()), {
          PLATFORM_APP_ID: 'demo-application',
          PLATFORM_APP_SECRET: made,
        }),
      )
      const emulator = await startEmulator({
        ...{ port, host, appId, appSecret, strict, data },
        signAlgorithm: PLATFORM_SIGN_ALGORITHM,
        seed: seed && seedOf(await textOf('--seed', seed), seed),
      })
      const told = stopSignal()
      if (seed && emulator.keptState) print(said(message('said.emulator_kept_state', { data, seed })))
      const where = { address: emulator.url, id: appId }
      print(
        said(
          appSecret === made
            ? message('said.emulator_listens_with', { ...where, secret: made })
            : message('said.emulator_listens', where),
        ),
      )
      await told
      await emulator.close()
    })
}

function portOf(text: string): number {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw wrongOption('--port', text, message('said.wanted_number_to', { min: 0, max: 65_535 }))
  return port
}

async function secretOf(file: string): Promise<string> {
  const secret = (await textOf('--secret-file', file)).trim()
  if (!secret) throw wrongOption('--secret-file', file, message('said.that_file_empty'))
  return secret
}

async function textOf(option: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw wrongOption(option, file, message('said.that_file_unreadable'), { cause })
  }
}

function seedOf(json: string, file: string): object {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw wrongOption('--seed', file, message('said.that_file_not_json'), { cause })
  }
}
