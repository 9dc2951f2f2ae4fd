import { z } from 'zod'
import { MIRRORS, type Mirror } from '../../sync/runs/mirror-kind.ts'
import { action, type Endpoint, read } from '../endpoint.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import {
  Accounts,
  AccountsInput,
  MirrorStatuses,
  Orders,
  OrdersInput,
  readAccounts,
  readMirrorStatus,
  readMirrorStatuses,
  readOrders,
  readTaxpayers,
  Taxpayers,
  TaxpayersInput,
} from './query.ts'
import { accountsBody, mirrorsBody, ordersBody, taxpayersBody } from './view.ts'

export const screen: Screen = { name: 'mirrors', endpoints: mirrors }

function mirrors(services: Services): Endpoint[] {
  const { pool } = services
  const status = (mirror: Mirror) => readMirrorStatus(pool, mirror)
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
    read({
      path: '/mirrors/orders',
      role: 'viewer',
      summary: 'Payment orders as last read from the platform, the latest first',
      query: OrdersInput,
      result: Orders,
      run: (ask, { input }) => readOrders(pool, ask, input),
      page: async (ask, result, { input }) => ({
        title: ask.t('mirrors.orders'),
        body: ordersBody(ask, await status('orders'), result, input),
      }),
    }),
    read({
      path: '/mirrors/accounts',
      role: 'viewer',
      summary: 'Limit accounts with balances and sub-accounts, as last read from the platform',
      query: AccountsInput,
      result: Accounts,
      run: (_ask, { input }) => readAccounts(pool, input),
      page: async (ask, result, { input }) => ({
        title: ask.t('mirrors.accounts'),
        body: accountsBody(ask, await status('accounts'), result, input),
      }),
    }),
    read({
      path: '/mirrors/taxpayers',
      role: 'viewer',
      summary: 'Taxpayers as last read from the platform',
      query: TaxpayersInput,
      result: Taxpayers,
      run: (_ask, { input }) => readTaxpayers(pool, input),
      page: async (ask, result, { input }) => ({
        title: ask.t('mirrors.taxpayers'),
        body: taxpayersBody(ask, await status('taxpayers'), result, input),
      }),
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
