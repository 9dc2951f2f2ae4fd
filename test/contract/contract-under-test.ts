import { type Emulator, startEmulator } from '../../emulator/emulator.ts'
import { LocalPacer } from '../../src/platform/caller.ts'
import { PlatformClient, type PlatformClientOptions } from '../../src/platform/client.ts'
import type { OperationName } from '../../src/platform/operations/index.ts'
import { type SignAlgorithm, sign } from '../../src/platform/request.ts'
import { MemoryTokenStore } from '../../src/platform/token.ts'
import { controlOf, type EmulatorControl } from '../helpers/emulator-control.ts'

/** Short enough for an outer_trade_no of 30 characters to begin with it. */
export const APP_ID = 'shop8'
const APP_SECRET = 'Secret-of-the-Application'

/** What the emulator's call log says of one call. */
export interface SeenCall {
  operation: OperationName
  params: Record<string, unknown>
  code: number | null
  traceId: string
}

/** How a call ended for its caller, and what the emulator saw meanwhile. */
export interface Watched {
  value?: unknown
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  error?: any
  calls: SeenCall[]
}

/** Makes no test wait: notes how long it is asked to pause, and gives no operation a budget. */
class NotingPacer extends LocalPacer {
  readonly pauses: number[]

  constructor(pauses: number[]) {
    super(100_000, new Map())
    this.pauses = pauses
  }

  override async holdOff(ms: number): Promise<void> {
    this.pauses.push(ms)
  }
}

/** The real emulator, real clients of it, and calls signed by hand where a client would refuse to send them. */
export class ContractUnderTest implements AsyncDisposable {
  readonly emulator: Emulator
  readonly control: EmulatorControl
  /** Milliseconds that the clients' pacers were asked to pause. */
  readonly pauses: number[] = []
  readonly #algorithm: SignAlgorithm
  readonly #clients: PlatformClient[] = []

  private constructor(emulator: Emulator, algorithm: SignAlgorithm) {
    this.emulator = emulator
    this.control = controlOf(emulator.url)
    this.#algorithm = algorithm
  }

  static async start(seed: object, algorithm: SignAlgorithm = 'sha256'): Promise<ContractUnderTest> {
    const emulator = await startEmulator({
      strict: true,
      appId: APP_ID,
      appSecret: APP_SECRET,
      signAlgorithm: algorithm,
      tokenCreationsPerHour: 10_000,
      seed,
    })
    return new ContractUnderTest(emulator, algorithm)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.close()
    await this.emulator.close()
  }

  /** A client with clock offset, token and budgets of its own. */
  client(options: Partial<PlatformClientOptions> = {}): PlatformClient {
    const client = new PlatformClient({
      baseUrl: this.emulator.url,
      appId: APP_ID,
      appSecret: APP_SECRET,
      signAlgorithm: this.#algorithm,
      tokenStore: new MemoryTokenStore(),
      pacer: new NotingPacer(this.pauses),
      ...options,
    })
    this.#clients.push(client)
    return client
  }

  /** Runs something and tells how it ended and which calls the emulator saw. */
  async watch(run: () => Promise<unknown>): Promise<Watched> {
    const { lastId } = await this.control('GET', 'calls?limit=0')
    const end: Omit<Watched, 'calls'> = await run().then(
      value => ({ value }),
      error => ({ error }),
    )
    const { calls } = await this.control('GET', `calls?since=${lastId}`)
    return { ...end, calls }
  }

  /** As {@link watch}, with a fault in force for one operation. */
  async watchFailing(operation: OperationName, fault: object, run: () => Promise<unknown>): Promise<Watched> {
    await this.control('POST', 'faults', { operation, ...fault })
    try {
      return await this.watch(run)
    } finally {
      await this.control('DELETE', 'faults')
    }
  }

  /** A form call that no client has checked, signed with the client's own `sign`. */
  byHand(operation: string, parameters: Record<string, string>): Promise<{ code: number; msg: string }> {
    return this.#post(operation, {}, parameters, new URLSearchParams(parameters))
  }

  /** A JSON call that no client has checked. */
  jsonByHand(operation: string, body: object): Promise<{ code: number; msg: string }> {
    const text = JSON.stringify(body)
    return this.#post(operation, { 'content-type': 'application/json' }, { _body: text }, text)
  }

  async #post(
    operation: string,
    headers: Record<string, string>,
    signed: Record<string, string>,
    body: URLSearchParams | string,
  ): Promise<{ code: number; msg: string }> {
    const { access_token } = await this.client().tokens.create()
    const query = { appid: APP_ID, timestamp: String(Math.floor(Date.now() / 1000)), access_token }
    const signature = sign({ ...query, ...signed }, APP_SECRET, this.#algorithm)
    const search = new URLSearchParams({ ...query, sign: signature })
    const url = `${this.emulator.url}/${operation}?${search}`
    return (await fetch(url, { method: 'POST', headers, body })).json() as Promise<{
      code: number
      msg: string
    }>
  }
}

/** Every row of a list that is read page by page. */
export async function collected<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const list: Row[] = []
  for await (const row of rows) list.push(row)
  return list
}
