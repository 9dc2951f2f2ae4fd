import { z } from 'zod'
import { onlyRow, type Pool } from '../../lib/database.ts'
import { FOR_A_PERSON, isOneOf } from '../../sync/cases/cases.ts'
import { CommandError, UNDOABLE_STEPS } from '../../sync/runs/commands.ts'
import { actorText } from '../../texts/actor.ts'
import { failureTexts, inLanguage } from '../../texts/failures.ts'
import { message, type Said } from '../../texts/message.ts'
import { type TextKey, textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { action, download, listOf, read, rowNumber, today } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import { timeText } from '../ui/parts.ts'
import { casesForAPerson } from '../ui/paths.ts'
import { SNOOZE, untilOf } from '../until.ts'
import { readArrival } from './arrival.ts'
import { caseShown } from './case-view.ts'
import { type ACTIONS, assigneeName, commentText, reasonText, Snooze, version } from './input.ts'
import { casesShown, groupsBody, listBody } from './list-view.ts'
import {
  assignableUsers,
  CaseGroups,
  CaseList,
  CSV_COLUMNS,
  departmentChoices,
  FilterInput,
  filterFor,
  filterOf,
  ListInput,
  orderOf,
  presentCategories,
  readCaseGroups,
  readCaseList,
} from './query.ts'
import { CaseStory, caseStory, everyCase } from './read.ts'
import { HowTold, howTold, toldText } from './told.ts'
import {
  CaseView,
  ChosenDisplay,
  Display,
  deleteView,
  keepDisplay,
  listViews,
  readDisplay,
  saveView,
  ViewInput,
} from './views.ts'

const params = z.object({ id: rowNumber })
const Done = z.object({ id: z.int() })
const SetAside = Done.extend({ state: z.string(), until: z.date().nullable() }).meta({ id: 'CaseSetAside' })

export const screen: Screen = {
  name: 'cases',
  badge: {
    sql: `select sum(n)::int from dirsync.tally where source = 'dead_letter' and state ${isOneOf(FOR_A_PERSON)}`,
    list: { href: casesForAPerson(), title: 'cases.for_a_person' },
  },
  topics: {
    cases: `select mark from tally where source = 'dead_letter'`,
    bulk: `
      select string_agg(concat_ws('|', id, state, done, skipped, failed), ',' order by id)
      from (select * from dirsync.bulk_action order by id desc limit 20) latest`,
  },
  endpoints: services => Object.values(cases(services)),
}

export function cases(services: Pick<Services, 'pool' | 'config'> & Partial<Pick<Services, 'people'>>) {
  const { pool } = services
  /**
   * Every decision about one case has the same form: its parameters, the version, and a redirect to the page of the
   * case.
   */
  const decide = <Shape extends z.ZodRawShape>(
    name: (typeof ACTIONS)[number],
    summary: string,
    fields: Shape,
  ) => ({
    ...({ path: `/cases/:id/${name}`, tag: 'cases', role: 'reviewer', summary } as const),
    params,
    body: z.object(fields),
  })

  return {
    list: read({
      path: '/cases',
      role: 'viewer',
      summary:
        'Cases by filters, page by page; without `states`, those that are neither resolved nor ignored',
      query: ListInput,
      result: CaseList,
      run: (ask, { input }) => readCaseList(pool, ask, input),
      shown: (ask, result, { input }) => casesShown(ask, result, input),
      async page(ask, result, { input }) {
        const isStart = Object.keys(filterOf(input)).length === 0 && input.cursor === undefined
        const isTold = services.config.CONSOLE_NAMES && ask.viewer.via !== 'token'
        const people = isTold ? (services.people ?? null) : null
        const [departments, categories, users, views, display, { items: groups }] = await Promise.all([
          departmentChoices(pool, people),
          presentCategories(pool),
          assignableUsers(pool),
          listViews(pool, ask),
          readDisplay(pool, ask),
          isStart ? readCaseGroups(pool) : { items: [] },
        ])
        return {
          title: ask.t('cases.title'),
          body: listBody(ask, { ...result, input, departments, categories, users, views, display, groups }),
        }
      },
    }),
    views: read({
      path: '/cases/views',
      role: 'viewer',
      summary: 'Saved views of the list of cases: one’s own, and those that others share',
      result: listOf(CaseView),
      run: async ask => ({ items: await listViews(pool, ask), next: null }),
    }),
    saveView: action({
      path: '/cases/views',
      role: 'viewer',
      summary:
        'Save filter, order and columns of the list of cases under a name; sharing it needs the role reviewer',
      body: ViewInput,
      result: CaseView,
      creates: () => '/cases/views',
      run: (ask, { input }) => saveView(pool, ask, input),
      next: (_ask, { name, query }) => ({
        to: `/cases?${query}`,
        notice: { key: 'cases.view_saved', values: { name } },
      }),
    }),
    deleteView: action({
      path: '/cases/views/:id/delete',
      role: 'viewer',
      summary: 'Delete a view that one has saved; an admin deletes any shared one',
      params,
      result: Done,
      async run(ask, { params: { id } }) {
        await deleteView(pool, ask, id)
        return { id }
      },
      next: () => ({ to: '/cases', notice: { key: 'cases.view_deleted' } }),
    }),
    display: action({
      path: '/cases/display',
      role: 'viewer',
      summary: 'Choose the columns of one’s own list of cases, and how close its rows are',
      body: Display.extend({ back: z.string().max(4000).optional().describe('What a browser returns to') }),
      result: ChosenDisplay,
      async run(ask, { input: { back: _, ...display } }) {
        await keepDisplay(pool, ask, display)
        return display
      },
      next: (_ask, _display, { input: { back = '' } }) => ({ to: `/cases?${new URLSearchParams(back)}` }),
    }),
    groups: read({
      path: '/cases/groups',
      role: 'viewer',
      summary: 'Unresolved cases by cause: category and code of the platform',
      result: CaseGroups,
      run: () => readCaseGroups(pool),
      page: async (ask, { items }) => ({
        title: ask.t('cases.tab_groups'),
        body: groupsBody(ask, items, items.length === 0 ? await readArrival(pool) : null),
      }),
    }),
    csv: download({
      path: '/cases.csv',
      tag: 'cases',
      role: 'reviewer',
      summary: 'All cases that match the filters, as CSV; message and remedy in the language of the caller',
      query: FilterInput.extend({ order: ListInput.shape.order }),
      fileName: () => `cases-${today()}.csv`,
      columns: () => CSV_COLUMNS,
      async *rows(ask, { input }) {
        const { order: _, ...filter } = input
        for await (const row of everyCase(pool, filterFor(ask, filter), orderOf(input))) {
          const { message, remedy } = failureTexts(ask.language, row)
          yield { ...row, message, remedy }
        }
      },
    }),
    one: read({
      path: '/cases/:id',
      role: 'viewer',
      summary: 'One case: what failed, what to do, what blocks it, and its history',
      params,
      result: CaseStory,
      async run(_ask, { params: { id } }) {
        const story = await caseStory(pool, id)
        if (story === null) throw new Problem('not_found', message('said.no_case', { case: id }))
        return story
      },
      shown: (ask, story) => caseShown(ask, story, services.config.PLATFORM_APP_ID),
    }),
    retry: action({
      ...decide('retry', 'Try a case again at once', { version }),
      result: z.object({ id: z.int(), run: z.int().describe('The run that tries it') }),
      starts: ({ run }) => `/runs/${run}`,
      run: (ask, { params: { id }, input }) =>
        decided(pool, ask, id, async () => ({
          id,
          run: await ask.commands.retry([id], input.version),
        })),
      next: (_ask, { id, run }) => ({
        to: `/cases/${id}`,
        notice: { key: 'cases.retried', values: { id: String(id), run: String(run) } },
      }),
    }),
    snooze: action({
      ...decide('snooze', 'Let a case rest for a time', { ...Snooze.shape, version }),
      result: SetAside,
      run: (ask, { params: { id }, input }) =>
        decided(pool, ask, id, async () => {
          const until = untilOf(ask, input, SNOOZE)
          await ask.commands.snooze(id, until, input.reason ?? null, input.version)
          return { id, state: 'snoozed', until }
        }),
      next: (ask, { id, until }) => told(id, 'cases.snoozed', { until: until ? timeText(ask, until) : '' }),
    }),
    wake: action({
      ...decide('wake', 'End the snooze of a case early, without trying it again', { version }),
      result: Done,
      run: (ask, { params: { id }, input }) =>
        decided(pool, ask, id, async () => {
          await ask.commands.wake(id, input.version)
          return { id }
        }),
      next: (_ask, { id }) => told(id, 'cases.woken'),
    }),
    undo: action({
      ...decide(
        'undo',
        'Take back the last ignore, snooze or assignment of a case, within ten minutes and if nothing happened since; then the one before it',
        { version },
      ),
      result: Done.extend({ undone: z.enum(UNDOABLE_STEPS) }),
      run: (ask, { params: { id }, input }) =>
        decided(pool, ask, id, async () => ({ id, undone: await ask.commands.undo(id, input.version) })),
      next: (ask, { id, undone }) => told(id, 'cases.undone', { what: ask.t(`event.${undone}`) }),
    }),
    ignore: action({
      ...decide('ignore', 'Close a case as accepted; one about a row of HR reopens when HR changes the row', {
        reason: reasonText,
        version,
      }),
      result: SetAside,
      run: (ask, { params: { id }, input }) =>
        decided(pool, ask, id, async () => {
          if (!input.reason) throw new Problem('invalid', ask.t('cases.needs_reason'), { field: 'reason' })
          await ask.commands.ignore(id, input.reason, input.version)
          return { id, state: 'ignored', until: null }
        }),
      next: (_ask, { id }) => told(id, 'cases.ignored'),
    }),
    assign: action({
      ...decide('assign', 'Say who takes care of a case', { assignee: assigneeName, version }),
      result: z.object({ id: z.int(), assignee: z.string().nullable(), told: HowTold }),
      run: (ask, { params: { id }, input }) =>
        decided(pool, ask, id, async () => {
          const assignee = input.assignee || null
          await ask.commands.assign(id, assignee, input.version)
          return { id, assignee, told: await howTold(services, ask, assignee) }
        }),
      next: (ask, { id, assignee, told: how }) =>
        assignee === null
          ? told(id, 'cases.unassigned')
          : told(id, 'cases.assigned', { assignee, told: toldText(ask, assignee, how) || 'none' }),
    }),
    comment: action({
      ...decide('comment', 'Add a comment to the story of a case', { text: commentText }),
      result: Done.extend({ comment: z.string() }),
      run: (ask, { params: { id }, input }) =>
        decided(pool, ask, id, async () => {
          if (!input.text) throw new Problem('invalid', ask.t('cases.needs_text'), { field: 'text' })
          await ask.commands.comment(id, input.text)
          return { id, comment: input.text }
        }),
      next: (_ask, { id }) => told(id, 'cases.commented'),
    }),
  }
}

type DoneKey = Extract<
  TextKey,
  `cases.${'snoozed' | 'woken' | 'undone' | 'ignored' | 'assigned' | 'unassigned' | 'commented'}`
>

function told(id: number, key: DoneKey, values: Record<string, string> = {}) {
  return { to: `/cases/${id}`, notice: { key, values: { id: String(id), ...values } } }
}

/**
 * Carries out a decision. If another person was quicker, says in the asker's language who, and what they did.
 * @throws Problem
 */
async function decided<T>(pool: Pool, ask: Ask, id: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof CommandError) || ['COMMAND_INVALID', 'COMMAND_LOCKED'].includes(error.code))
      throw error
    throw new Problem('changed', await whatChanged(pool, ask, id, error), { cause: error })
  }
}

/**
 * What happened last to the case. Only an asker who named its version has looked before; any other is told how the case is.
 * @throws Problem if there is no such case
 */
async function whatChanged(
  pool: Pool,
  ask: Ask,
  id: number,
  { code, said }: CommandError,
): Promise<Said | string> {
  const { t, language } = ask
  const { rows } = await pool.query<{
    state: string
    last_failed_at: Date
    at: Date | null
    actor: string | null
    event: string | null
  }>(
    `select d.state, d.last_failed_at, e.at, e.actor, e.event
     from dirsync.dead_letter d
     left join lateral (select at, actor, event from dirsync.dead_letter_event v
                        where v.dead_letter_id = d.id and v.event <> 'commented'
                        order by v.id desc limit 1) e on true
     where d.id = $1`,
    [id],
  )
  if (rows.length === 0) throw new Problem('not_found', message('said.no_case', { case: id }))
  const { last_failed_at, at, actor, event } = onlyRow(rows)
  const hasLooked = code === 'COMMAND_CONFLICT'
  if (at === null || actor === null || event === null || last_failed_at > at)
    return hasLooked
      ? t('cases.conflict_failed', { id: String(id), when: timeText(ask, last_failed_at) })
      : said
  return t(hasLooked ? 'cases.conflict' : 'cases.unfit', {
    id: String(id),
    why: inLanguage(language, said),
    who: actorText(ask, actor),
    what: textOr(language, `event.${event}`, event),
    when: timeText(ask, at),
  })
}
