import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NOT_OVERDUE } from '../../src/alerts/rules/work.ts'
import { curves, DATASOURCE, layOut, type Placed, type PlainDashboard, stat } from './panels.ts'

/**
 * `npm run ops:dashboards`: generates the dashboards, dirsync-*.json, from this file. A test compares them, and
 * queries a Prometheus that scraped a real service for each panel.
 *
 * Figures of the whole deployment are exposed by each of its processes, so `max` takes one of them. Counters of a
 * process are summed up.
 */

/** 0 while the figures are available; nothing while the database is down. */
const NONE = '0 * (max(dirsync_database_up{job="$job"}) == 1)'
/** By what they are not, so that a status that is added later counts as in scope and as not in sync. */
const IN_SHARE = `status!~"left|vanished|${NOT_OVERDUE.join('|')}"`
const NOT_IN_SYNC = 'status!~"in_sync|left|vanished"'

const OPERATIONS: Placed[] = [
  stat({
    title: 'In sync',
    description:
      'Share of the employees for whom the platform confirmed every field. Those about whom a person decides or has decided are not counted, nor those without an HR source. Below 98 % for an hour is an alert.',
    unit: 'percentunit',
    decimals: 1,
    expr: `max(dirsync_employees{job="$job",status="in_sync"})
  / sum(max by (status) (dirsync_employees{job="$job",${IN_SHARE}}))`,
    steps: ['red', [0.9, 'orange'], [0.98, 'green']],
  }),
  stat({
    title: 'Halts',
    description:
      'Work stands still for everything or for an enterprise. The console tells why, and what to do.',
    unit: 'short',
    expr: `sum(max by (category, scope, source) (dirsync_halts{job="$job"})) or ${NONE}`,
    steps: ['green', [1, 'red']],
    words: { '0': 'none' },
  }),
  stat({
    title: 'Held runs',
    description: 'Runs that look harmful and wait for a person to approve or reject them.',
    unit: 'short',
    expr: 'max(dirsync_runs{job="$job",state="held"})',
    steps: ['green', [1, 'orange']],
    words: { '0': 'none' },
  }),
  stat({
    title: 'Open cases',
    description: 'Cases for review that are neither resolved nor ignored.',
    unit: 'short',
    expr: `sum(max by (category, state) (dirsync_dead_letters{job="$job",state!="ignored"})) or ${NONE}`,
    steps: ['text'],
    words: { '0': 'none' },
  }),
  stat({
    title: 'Oldest work',
    description:
      'Age of the oldest work that is not a full run’s. More than an hour is an alert while nothing is halted.',
    unit: 's',
    expr: 'max(dirsync_work_oldest_age_seconds{job="$job"})',
    steps: ['green', [1800, 'orange'], [3600, 'red']],
    words: { '0': 'none' },
  }),
  stat({
    title: 'Alerts firing',
    description: 'What dirsync itself finds wrong now, whether it was told or kept back.',
    unit: 'short',
    expr: 'sum(max by (rule, severity) (dirsync_alerts{job="$job"}))',
    steps: ['green', [1, 'red']],
    words: { '0': 'none' },
  }),
  curves({
    title: 'Share in sync',
    description: 'Of the same employees. Red: below 98 %, which is an alert after an hour.',
    unit: 'percentunit',
    least: 0.98,
    softMin: 0.9,
    max: 1,
    queries: [
      {
        expr: `max(dirsync_employees{job="$job",status="in_sync"})
  / sum(max by (status) (dirsync_employees{job="$job",${IN_SHARE}}))`,
        legend: 'in sync',
        color: 'green',
      },
    ],
  }),
  curves({
    title: 'Employees not in sync',
    description:
      'And why not: to be sent, halted, held or rejected, in review, accepted as different, not yet on the platform, or without an HR source.',
    unit: 'short',
    stacked: true,
    queries: [
      {
        expr: `max by (status) (dirsync_employees{job="$job",${NOT_IN_SYNC}})`,
        legend: '{{status}}',
      },
    ],
  }),
  curves({
    title: 'Outbox',
    description:
      'Entities whose desired state the platform has not confirmed. It empties as fast as calls are permitted.',
    unit: 'short',
    stacked: true,
    queries: [
      {
        expr: 'sum by (operation) (max by (operation, enqueued) (dirsync_pending_entities{job="$job"}))',
        legend: '{{operation}}',
      },
    ],
  }),
  curves({
    title: 'Age of the oldest work',
    description: 'Dashed: without full runs, which may take hours. Beyond an hour that is an alert.',
    unit: 's',
    limit: 3600,
    queries: [
      {
        expr: 'max by (operation) (dirsync_pending_oldest_age_seconds{job="$job"})',
        legend: '{{operation}}',
      },
      {
        expr: 'max(dirsync_work_oldest_age_seconds{job="$job"})',
        legend: 'without full runs',
        color: 'text',
        dashed: true,
      },
    ],
  }),
  curves({
    title: 'Intervals without a good run that was due',
    description:
      'In intervals of its schedule. Begins anew after a pause or halt, and at each check of a held run. Beyond 3 is an alert. Nothing while a schedule is off or paused.',
    unit: 'short',
    limit: 3,
    queries: [
      {
        expr: `max by (kind) (dirsync_run_unsuccessful_seconds{job="$job"})
  / max by (kind) (dirsync_run_interval_seconds{job="$job"})`,
        legend: '{{kind}}',
      },
    ],
  }),
  curves({
    title: 'Runs in hand',
    description: 'Runs that are asked for, planned, sent, or held for a person.',
    unit: 'short',
    stacked: true,
    steps: true,
    queries: [
      {
        expr: 'max by (state) (dirsync_runs{job="$job",state=~"requested|planning|running|held"})',
        legend: '{{state}}',
      },
    ],
  }),
  curves({
    title: 'Open cases by category',
    description: 'A category that jumps often has one cause, in HR, in the mapping or on the platform.',
    unit: 'short',
    stacked: true,
    queries: [
      {
        expr: 'sum by (category) (max by (category, state) (dirsync_dead_letters{job="$job",state!="ignored"}))',
        legend: '{{category}}',
      },
    ],
  }),
  curves({
    title: 'Jobs by outcome',
    description: 'What workers carried out, per second.',
    unit: 'ops',
    stacked: true,
    queries: [
      {
        expr: 'sum by (outcome) (rate(dirsync_jobs_total{job="$job"}[$__rate_interval]))',
        legend: '{{outcome}}',
      },
    ],
  }),
  curves({
    title: 'Halts by category',
    description: 'Each stops everything or an enterprise; paused: a person said so.',
    unit: 'short',
    stacked: true,
    steps: true,
    queries: [
      {
        expr: 'sum by (category) (max by (category, scope, source) (dirsync_halts{job="$job"}))',
        legend: '{{category}}',
      },
    ],
  }),
  curves({
    title: 'Alerts by rule',
    description: 'The rules are those of docs/runbook.md.',
    unit: 'short',
    stacked: true,
    steps: true,
    queries: [
      {
        expr: 'sum by (rule) (max by (rule, severity) (dirsync_alerts{job="$job"})) > 0',
        legend: '{{rule}}',
      },
    ],
  }),
  curves({
    title: 'Living processes by role',
    description: 'Without a worker nothing is sent, without a scheduler nothing is planned.',
    unit: 'short',
    steps: true,
    queries: [{ expr: 'max by (role) (dirsync_processes{job="$job"})', legend: '{{role}}' }],
  }),
  curves({
    title: 'Database: connections in use',
    description: 'Of those that dirsync’s database permits. 80 % is an alert.',
    unit: 'percentunit',
    limit: 0.8,
    max: 1,
    queries: [
      {
        expr: `max(dirsync_database_connections{job="$job"})
  / max(dirsync_database_connections_limit{job="$job"})`,
        legend: 'in use',
      },
    ],
  }),
]

const quantile = (share: number, histogram: string, by = '') =>
  `histogram_quantile(${share}, sum by (le${by}) (rate(${histogram}_bucket{job="$job"}[$__rate_interval])))`

const OBJECTIVE: Placed[] = [
  curves({
    title: 'From a change in HR to the platform',
    description:
      'From when dirsync found it to the confirmation, without what became a case or only a full run found. The objective: 99 % within 10 minutes.',
    unit: 's',
    limit: 600,
    queries: [
      { expr: quantile(0.5, 'dirsync_change_seconds'), legend: '50 %' },
      { expr: quantile(0.99, 'dirsync_change_seconds'), legend: '99 %' },
    ],
  }),
  curves({
    title: 'Runs that ended, by state',
    description: 'Within an hour. failed and source_suspect ask for a look at the run.',
    unit: 'short',
    stacked: true,
    queries: [
      {
        expr: 'sum by (state) (max by (kind, state) (increase(dirsync_runs_total{job="$job"}[1h])))',
        legend: '{{state}}',
      },
    ],
  }),
  curves({
    title: 'Processes: CPU',
    description: 'Cores in use. One process uses little more than one.',
    unit: 'short',
    queries: [
      {
        expr: 'rate(process_cpu_seconds_total{job="$job"}[$__rate_interval])',
        legend: '{{instance}}',
      },
    ],
  }),
  curves({
    title: 'Processes: memory',
    description: 'Resident. In docker-compose the container dirsync has 1 GB, every other process 512 MB.',
    unit: 'bytes',
    queries: [{ expr: 'process_resident_memory_bytes{job="$job"}', legend: '{{instance}}' }],
  }),
  curves({
    title: 'Processes: lag of the event loop, 99 %',
    description: 'Beyond a second the process answers late, and its locks are at risk.',
    unit: 's',
    queries: [{ expr: 'nodejs_eventloop_lag_p99_seconds{job="$job"}', legend: '{{instance}}' }],
  }),
  curves({
    title: 'Processes: starts within an hour',
    description: 'More than three within 15 minutes is an alert.',
    unit: 'short',
    steps: true,
    queries: [{ expr: 'changes(process_start_time_seconds{job="$job"}[1h])', legend: '{{instance}}' }],
  }),
  curves({
    title: 'Requests that wait for a database connection',
    description:
      'Of a process, by pool. Now and then a few; always some: the database is slow, or has too few connections.',
    unit: 'short',
    queries: [
      {
        expr: 'sum by (pool, instance) (dirsync_pool_connections{job="$job",state="waiting"})',
        legend: '{{instance}} {{pool}}',
      },
    ],
  }),
]

const CALLS = 'dirsync_platform_calls_total{job="$job"}'
const PLATFORM_CALLS: Placed[] = [
  stat({
    title: 'Calls now',
    description: 'Per second over the last ten seconds, of all workers.',
    unit: 'reqps',
    expr: 'max(dirsync_platform_calls_per_second{job="$job"})',
    steps: ['text'],
  }),
  stat({
    title: 'Permitted',
    description: 'Calls per second that the pacer permits, all processes together.',
    unit: 'reqps',
    expr: 'max(dirsync_pacer_permitted_calls_per_second{job="$job"})',
    steps: ['text'],
  }),
  stat({
    title: 'Used',
    description: 'Share of the permitted rate. At 100 % the platform’s limit is what a run waits for.',
    unit: 'percentunit',
    decimals: 0,
    expr: 'max(dirsync_platform_utilisation_ratio{job="$job"})',
    steps: ['text'],
  }),
  stat({
    title: 'Rejected as too many',
    description: 'Share of the calls of the last 15 minutes. More than 1 % is an alert.',
    unit: 'percentunit',
    decimals: 2,
    expr: `sum(increase(dirsync_platform_calls_rate_limited_total{job="$job"}[15m]))
  / (sum(increase(${CALLS}[15m])) > 0)`,
    steps: ['green', [0.01, 'orange'], [0.05, 'red']],
  }),
  stat({
    title: 'Pause',
    description: 'What is left of a pause that the platform asked for.',
    unit: 's',
    expr: 'max(dirsync_platform_pause_seconds{job="$job"})',
    steps: ['green', [0.001, 'orange']],
    words: { '0': 'none' },
  }),
  stat({
    title: 'Tokens in the last hour',
    description: 'Access tokens created. More than 20 is an alert; the platform permits 60.',
    unit: 'short',
    expr: 'max(dirsync_token_creations_last_hour{job="$job"})',
    steps: ['green', [21, 'orange'], [50, 'red']],
  }),
  curves({
    title: 'Rate against what is permitted',
    description: 'The ceiling is the rate at which the platform last rejected calls; unknown until it does.',
    unit: 'reqps',
    queries: [
      { expr: `sum(rate(${CALLS}[$__rate_interval]))`, legend: 'calls', color: 'blue' },
      {
        expr: 'max(dirsync_pacer_permitted_calls_per_second{job="$job"})',
        legend: 'permitted',
        color: 'green',
        dashed: true,
      },
      {
        expr: 'max(dirsync_pacer_ceiling_calls_per_second{job="$job"})',
        legend: 'ceiling',
        color: 'red',
        dashed: true,
      },
    ],
  }),
  curves({
    title: 'Calls by operation',
    description: 'Per second, whatever came of them.',
    unit: 'reqps',
    stacked: true,
    queries: [{ expr: `sum by (operation) (rate(${CALLS}[$__rate_interval]))`, legend: '{{operation}}' }],
  }),
  curves({
    title: 'Answers other than success, by code',
    description:
      'Numbers are the platform’s codes (docs/platform.md); words are failures of the exchange itself.',
    unit: 'reqps',
    stacked: true,
    queries: [
      {
        expr: 'sum by (code) (rate(dirsync_platform_calls_total{job="$job",code!="0"}[$__rate_interval])) > 0',
        legend: '{{code}}',
      },
    ],
  }),
  curves({
    title: 'Rejected as too many, by operation',
    description:
      'Where it is one operation alone, give that one a limit of its own with OPERATION_RATE_LIMITS.',
    unit: 'reqps',
    stacked: true,
    queries: [
      {
        expr: 'sum by (operation) (rate(dirsync_platform_calls_rate_limited_total{job="$job"}[$__rate_interval]))',
        legend: '{{operation}}',
      },
    ],
  }),
  curves({
    title: 'How long calls take',
    description: 'From sending to the answer, without the wait for the pacer.',
    unit: 's',
    queries: [
      { expr: quantile(0.5, 'dirsync_platform_call_duration_seconds'), legend: 'half within' },
      { expr: quantile(0.95, 'dirsync_platform_call_duration_seconds'), legend: '95 % within' },
    ],
  }),
  curves({
    title: 'How long calls take, 95 % by operation',
    description: 'An operation that is slower than the others is so on the platform.',
    unit: 's',
    queries: [
      {
        expr: quantile(0.95, 'dirsync_platform_call_duration_seconds', ', operation'),
        legend: '{{operation}}',
      },
    ],
  }),
  curves({
    title: 'How long calls wait for the pacer',
    description: 'Before they are sent. Calls of a full run wait while others are sent.',
    unit: 's',
    queries: [
      { expr: quantile(0.5, 'dirsync_platform_call_wait_seconds'), legend: 'half within' },
      { expr: quantile(0.95, 'dirsync_platform_call_wait_seconds'), legend: '95 % within' },
    ],
  }),
  curves({
    title: 'Calls in line',
    description: 'Calls of all processes that wait for the pacer.',
    unit: 'short',
    queries: [{ expr: 'sum(dirsync_pacer_waiting_calls{job="$job"})', legend: 'waiting' }],
  }),
  curves({
    title: 'Pauses that the platform asked for',
    description:
      'What is left of a pause (HTTP 429, or 503 with Retry-After). No call leaves until it is over.',
    unit: 's',
    queries: [{ expr: 'max(dirsync_platform_pause_seconds{job="$job"})', legend: 'left' }],
  }),
  curves({
    title: 'Access tokens created within an hour',
    description: 'More than 20 is an alert: something takes them away. The platform permits 60.',
    unit: 'short',
    limit: 20,
    queries: [{ expr: 'max(dirsync_token_creations_last_hour{job="$job"})', legend: 'created' }],
  }),
]

/** Every dashboard, by its file. */
export const DASHBOARDS: Readonly<Record<string, PlainDashboard>> = {
  'dirsync-operations.json': dashboard(
    { uid: 'dirsync-operations', title: 'dirsync: operations' },
    'Are all employees in sync, and if not, why?',
    [...OPERATIONS, ...OBJECTIVE],
  ),
  'dirsync-platform-calls.json': dashboard(
    { uid: 'dirsync-platform-calls', title: 'dirsync: platform calls' },
    'How fast are calls made, how fast may they be, and what does the platform answer?',
    PLATFORM_CALLS,
  ),
}

function dashboard(
  name: { uid: string; title: string },
  description: string,
  panels: Placed[],
): PlainDashboard {
  return {
    ...name,
    description,
    tags: ['dirsync'],
    schemaVersion: 42,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'browser',
    links: [
      {
        title: 'dirsync',
        type: 'dashboards',
        tags: ['dirsync'],
        asDropdown: false,
        includeVars: true,
        keepTime: true,
        targetBlank: false,
        icon: '',
        tooltip: '',
        url: '',
      },
    ],
    templating: {
      list: [
        { type: 'datasource', name: 'datasource', label: 'Prometheus', query: 'prometheus' },
        {
          type: 'query',
          name: 'job',
          label: 'Deployment',
          datasource: DATASOURCE,
          query: 'label_values(dirsync_database_up, job)',
          refresh: 2,
          sort: 1,
        },
      ],
    },
    panels: layOut(panels),
  }
}

if (import.meta.main) {
  for (const [name, content] of Object.entries(DASHBOARDS)) {
    const file = join(import.meta.dirname, name)
    const text = `${JSON.stringify(content, null, 2)}\n`
    if (text !== readFileSync(file, { encoding: 'utf8', flag: 'a+' })) writeFileSync(file, text)
  }
}
