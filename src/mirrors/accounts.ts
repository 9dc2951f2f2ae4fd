import type { ClientBase } from 'pg'
import { storeAccounts } from '../store/limit-account.ts'
import type { MirrorTask } from '../store/mirror.ts'
import {
  type CountedCalls,
  enterpriseParameter,
  type MirrorReader,
  type Reading,
  type ReadingPlan,
} from './reader.ts'

const OPERATION = 'assets/limit/enterprise/get'

/** Limit accounts and their sub-accounts (specification 4.9): all of an enterprise in one call. */
export class AccountReader implements MirrorReader {
  async plan(_db: ClientBase, enterpriseCodes: string[]): Promise<ReadingPlan> {
    const tasks = enterpriseCodes.map(enterpriseCode => ({
      enterpriseCode,
      part: '',
      entityKey: '',
      detail: '',
    }))
    return { tasks, reasons: { enterprises: tasks.length }, parts: [''] }
  }

  operation(): string {
    return OPERATION
  }

  async read({ enterpriseCode }: MirrorTask, calls: CountedCalls): Promise<Reading> {
    const accounts = await calls.make((client, options) =>
      client.limitAccounts.list(enterpriseParameter(enterpriseCode), options),
    )
    const kept = accounts.flatMap(({ account_openid, sub_limits, ...facts }) => {
      if (account_openid === null) return []
      const sub_accounts = (sub_limits ?? []).flatMap(sub =>
        sub.id === null ? [] : [{ ...sub, id: sub.id }],
      )
      return [{ ...facts, account_openid, sub_accounts }]
    })
    return {
      operation: OPERATION,
      rows: kept.length,
      store: async db => ({ changed: await storeAccounts(db, enterpriseCode, kept), next: null }),
    }
  }
}
