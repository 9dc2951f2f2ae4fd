import { z } from 'zod'
import { previewBulk, startBulk, stopBulk, undoBulk } from '../../sync/cases/bulk.ts'
import { CommandError } from '../../sync/runs/commands.ts'
import type { Ask } from '../ask.ts'
import { howTold } from '../cases/told.ts'
import { action, listOf, read, rowNumber } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import { RANGE, rangeOf } from '../range.ts'
import type { Services } from '../services.ts'
import { BulkInput, BulkPage, bulkPage, bulkRequestOf, ResultsInput } from './query.ts'
import { BulkRow, bulkResults, listBulk, readBulk } from './read.ts'
import { bulkBody, bulkListBody, titleOf } from './view.ts'

const params = z.object({ id: rowNumber })
/** How many of the latest actions are listed; actions are kept for 30 days. */
const LATEST = 100

export function bulk(services: Pick<Services, 'pool' | 'config'>) {
  const { pool } = services
  /** Starts or stops an action. Previews are deleted after a day. */
  const settle = async <T>(ask: Ask, work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      if (!(error instanceof CommandError) || error.code !== 'COMMAND_NOT_FOUND') throw error
      throw new Problem('not_found', ask.t('bulk.gone'), { cause: error })
    }
  }

  return {
    preview: action({
      path: '/bulk',
      tag: 'cases',
      role: 'reviewer',
      summary: 'Preview an action on many cases: which cases, and what would happen. Changes nothing',
      body: BulkInput,
      result: z.object({
        id: z.int().describe('Start or discard it within a day'),
        total: z.int(),
        more: z.boolean(),
        will_act: z.int(),
        will_skip: z.int(),
        runs: z.int().describe('How many runs a retry makes'),
        categories: z.record(z.string(), z.int()),
        states: z.record(z.string(), z.int()),
      }),
      creates: ({ id }) => `/bulk/${id}`,
      async run(ask, { input }) {
        const request = bulkRequestOf(ask, input)
        try {
          const { willAct, willSkip, states, ...preview } = await previewBulk(pool, ask.asker, request)
          return { ...preview, states: { ...states }, will_act: willAct, will_skip: willSkip }
        } catch (error) {
          if (error instanceof CommandError && error.code === 'COMMAND_NOT_FOUND')
            throw new Problem('invalid', ask.t('cases.none_match'), { cause: error })
          throw error
        }
      },
      next: (_ask, { id }) => ({ to: `/bulk/${id}` }),
    }),
    list: read({
      path: '/bulk',
      tag: 'cases',
      role: 'viewer',
      summary: 'The latest actions on many cases, newest first',
      query: z.object(RANGE),
      result: listOf(BulkRow),
      run: async (ask, { input }) => ({
        items: await listBulk(pool, LATEST, rangeOf(ask, input)),
        next: null,
      }),
      page: (ask, { items }, { input }) => ({
        title: ask.t('bulk.title'),
        body: bulkListBody(ask, items, input),
      }),
    }),
    one: read({
      path: '/bulk/:id',
      tag: 'cases',
      role: 'viewer',
      summary: 'One action on many cases: its progress, and the outcome of each case, page by page',
      params,
      query: ResultsInput,
      result: BulkPage,
      async run(ask, { params: { id }, input }) {
        const { outcome, cursor, limit } = input
        const [found, results] = await Promise.all([
          readBulk(pool, id),
          bulkResults(pool, id, { after: cursor, limit, outcome }),
        ])
        if (!found) throw new Problem('not_found', ask.t('bulk.gone'))
        const told = await howTold(services, ask, found.arguments.assignee)
        return bulkPage(found, results, told)
      },
      page: (ask, page, { input }) => ({
        title: titleOf(ask, page.bulk),
        body: bulkBody(ask, page, input.outcome),
      }),
    }),
    start: action({
      path: '/bulk/:id/start',
      tag: 'cases',
      role: 'reviewer',
      summary: 'Start a previewed action; it runs in the background',
      params,
      result: z.object({ id: z.int() }),
      starts: ({ id }) => `/bulk/${id}`,
      async run(ask, { params: { id } }) {
        await settle(ask, startBulk(pool, ask.asker, id))
        return { id }
      },
      next: (_ask, { id }) => ({ to: `/bulk/${id}`, notice: { key: 'bulk.started' } }),
    }),
    stop: action({
      path: '/bulk/:id/stop',
      tag: 'cases',
      role: 'reviewer',
      summary: 'Stop an action after the cases in hand, or discard a preview',
      params,
      result: z.object({ id: z.int(), was_preview: z.boolean() }),
      async run(ask, { params: { id } }) {
        await settle(ask, stopBulk(pool, ask.asker, id))
        const found = await readBulk(pool, id)
        return { id, was_preview: found?.confirmed_at === null }
      },
      next: (_ask, { id, was_preview }) =>
        was_preview
          ? { to: '/cases', notice: { key: 'bulk.discarded' } }
          : { to: `/bulk/${id}`, notice: { key: 'bulk.stopped' } },
    }),
    undo: action({
      path: '/bulk/:id/undo',
      tag: 'cases',
      role: 'reviewer',
      summary:
        'Take an action back in the background, up to ten minutes after it ended: of each case to which nothing happened since',
      params,
      result: z.object({ id: z.int().describe('The action that takes it back') }),
      starts: ({ id }) => `/bulk/${id}`,
      run: async (ask, { params: { id } }) => ({
        id: await undoBulk(pool, ask.asker, id),
      }),
      next: (_ask, { id }) => ({ to: `/bulk/${id}`, notice: { key: 'bulk.started' } }),
    }),
  }
}
