import type { SafeHtml } from '@remix-run/html-template'
import { z } from 'zod'
import { everyPage, type Paged } from '../../lib/cursor.ts'
import { MIRRORS, type Mirror } from '../../sync/runs/mirror-kind.ts'
import type { Ask } from '../ask.ts'
import {
  action,
  download,
  type Endpoint,
  EXPORTED_AT_ONCE,
  type listOf,
  PAGE,
  type PageInput,
  read,
  today,
} from '../endpoint.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import {
  AccountQuery,
  Accounts,
  type MirrorStatus,
  MirrorStatuses,
  OrderQuery,
  Orders,
  readAccounts,
  readMirrorStatus,
  readMirrorStatuses,
  readOrders,
  readTaxpayers,
  TaxpayerQuery,
  Taxpayers,
} from './query.ts'
import { LimitAccountRow, PaymentOrderRow, TaxpayerRow } from './read.ts'
import { accountsBody, mirrorsBody, ordersBody, taxpayersBody } from './view.ts'

export const screen: Screen = { name: 'mirrors', endpoints: mirrors }

interface MirrorList<Row extends z.ZodObject, Filter extends z.ZodObject> {
  summary: string
  summaryOfFile: string
  filter: Filter
  row: Row
  result: ReturnType<typeof listOf<Row>>
  page(ask: Ask, input: z.output<Filter> & PageInput): Promise<Paged<z.output<Row>>>
  body(
    ask: Ask,
    status: MirrorStatus | null,
    page: Paged<z.output<Row>>,
    input: z.output<Filter> & PageInput,
  ): SafeHtml
}

function mirrors(services: Services): Endpoint[] {
  const { pool } = services
  /** The rows of a mirror, page by page and as a file. */
  function rowsOf<Row extends z.ZodObject, Filter extends z.ZodObject>(
    mirror: Mirror,
    { filter, row, ...list }: MirrorList<Row, Filter>,
  ): Endpoint[] {
    // The types of a schema that is extended while its own is not known yet are lost.
    const given = (input: Record<string, unknown>) => input as z.output<Filter> & PageInput
    return [
      read({
        path: `/mirrors/${mirror}`,
        role: 'viewer',
        summary: list.summary,
        query: filter.extend(PAGE),
        result: list.result,
        run: (ask, { input }) => list.page(ask, given(input)),
        page: async (ask, result, { input }) => ({
          title: ask.t(`mirrors.${mirror}`),
          body: list.body(ask, await readMirrorStatus(pool, mirror), result, given(input)),
        }),
      }),
      download({
        path: `/mirrors/${mirror}.csv`,
        tag: 'mirrors',
        role: 'viewer',
        summary: list.summaryOfFile,
        query: filter,
        fileName: () => `${mirror}-${today()}.csv`,
        columns: () => row.keyof().options,
        rows: (ask, { input }) =>
          everyPage(cursor =>
            list.page(ask, given({ ...input, cursor: cursor ?? undefined, limit: EXPORTED_AT_ONCE })),
          ),
      }),
    ]
  }
  return [
    read({
      path: '/mirrors',
      role: 'viewer',
      summary: 'The status of each mirror: whether it is on, its last and next reading, and the outcome',
      result: MirrorStatuses,
      run: () => readMirrorStatuses(pool),
      page: (ask, result) => ({
        title: ask.t('mirrors.title'),
        body: mirrorsBody(ask, result.items),
      }),
    }),
    ...rowsOf('orders', {
      summary: 'Payment orders as last read from the platform, the latest first',
      summaryOfFile: 'All payment orders that match the filters, as CSV',
      filter: OrderQuery,
      row: PaymentOrderRow,
      result: Orders,
      page: (ask, input) => readOrders(pool, ask, input),
      body: ordersBody,
    }),
    ...rowsOf('accounts', {
      summary: 'Limit accounts with balances and sub-accounts, as last read from the platform',
      summaryOfFile: 'All limit accounts that match the filters, as CSV; sub-accounts as JSON',
      filter: AccountQuery,
      row: LimitAccountRow,
      result: Accounts,
      page: (_ask, input) => readAccounts(pool, input),
      body: accountsBody,
    }),
    ...rowsOf('taxpayers', {
      summary: 'Taxpayers as last read from the platform',
      summaryOfFile: 'All taxpayers that match the filters, as CSV',
      filter: TaxpayerQuery,
      row: TaxpayerRow,
      result: Taxpayers,
      page: (_ask, input) => readTaxpayers(pool, input),
      body: taxpayersBody,
    }),
    action({
      path: '/mirrors/:mirror/read',
      role: 'operator',
      summary:
        'Read a mirror again, or return the run that already waits to do so; works for mirrors that are off, too',
      params: z.object({ mirror: z.enum(MIRRORS) }),
      result: z.object({ run: z.int() }),
      starts: ({ run }) => `/runs/${run}`,
      run: async (ask, { params }) => {
        const [run = 0] = await ask.commands.resync(params.mirror)
        return { run }
      },
      next: (_ask, { run }, { params }) => ({
        to: `/mirrors/${params.mirror}`,
        notice: { key: 'mirrors.asked', values: { run: String(run) } },
      }),
    }),
  ]
}
