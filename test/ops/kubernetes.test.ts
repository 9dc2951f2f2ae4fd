import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Deployment } from 'kubernetes-models/apps/v1'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { Service } from 'kubernetes-models/v1'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { FILE, TEXT } from '../../ops/kubernetes/manifests.ts'
import { SETTINGS } from '../../src/settings/settings.ts'
import { ROLES } from '../../src/sync/processes/process.ts'
import { ROOT, readComposeFile, secretsOf } from '../compose/compose-file.ts'

/* The types of the manifests' generator know their fields; here their values are held to the schemas of the API. */

const MODELS = { Deployment, PodDisruptionBudget, Service, HorizontalPodAutoscaler }

const written = readFileSync(FILE, 'utf8')
const objects = parseAllDocuments(written).map(document => {
  const { kind, ...rest } = document.toJS() as { kind: keyof typeof MODELS }
  return new MODELS[kind]({ kind, ...rest } as never)
})
const deployments = objects.filter(object => object instanceof Deployment)

test('the file has what `npm run ops:kubernetes` makes', () => {
  expect(written).toBe(TEXT)
})

test.each(objects.map(object => [object.kind, object.metadata?.name, object] as const))(
  '%s %s is as the schema of the API has it',
  (_kind, _name, object) => object.validate(),
)

test('each role has a Deployment and a budget of disruptions', () => {
  const budgets = objects.filter(object => object instanceof PodDisruptionBudget)
  for (const of of [deployments, budgets])
    expect(of.map(({ metadata }) => metadata?.name)).toEqual(ROLES.map(role => `dirsync-${role}`))
  for (const { spec } of budgets)
    expect(deployments.map(deployment => deployment.spec?.template.metadata?.labels)).toContainEqual(
      spec?.selector?.matchLabels,
    )
})

test('pods have the time to end and the secrets that those of Compose have', () => {
  const { dirsync } = readComposeFile().services
  for (const { spec } of deployments)
    expect(`${spec?.template.spec?.terminationGracePeriodSeconds}s`).toBe(dirsync?.stop_grace_period)
  for (const { spec } of deployments)
    for (const { env } of spec?.template.spec?.containers ?? [])
      expect(env?.map(({ name, value }) => [name, value])).toEqual(
        secretsOf(dirsync as never).map(secret => [`${secret.toUpperCase()}_FILE`, `/run/secrets/${secret}`]),
      )
})

test('a scheduler has room for a dry run beside its own', () => {
  /** A process and what it reads HR's files with (src/hr/files/duckdb.ts). */
  const OWN_MB = 200 + 256
  const most = Number(SETTINGS.DRY_RUN_MEMORY_MB.default)
  const megabytes = (limit: unknown) =>
    Number.parseInt(`${limit}`, 10) * (/^\d+Gi?$/i.test(`${limit}`) ? 1024 : 1)
  const [scheduler] = deployments.filter(({ metadata }) => metadata?.name === 'dirsync-scheduler')
  const limits = [
    scheduler?.spec?.template.spec?.containers[0]?.resources?.limits?.memory,
    readComposeFile().services.dirsync?.mem_limit,
  ]
  for (const limit of limits) expect(megabytes(limit), `${limit}`).toBeGreaterThanOrEqual(OWN_MB + most)
})

test('workers are scaled by a metric that the alerts are made of, and of no other', () => {
  const [autoscaler] = objects.filter(object => object instanceof HorizontalPodAutoscaler)
  const names = autoscaler?.spec?.metrics?.map(({ external }) => external?.metric.name)
  expect(names).toEqual(['dirsync_work_oldest_age_seconds'])
  expect(readFileSync(join(ROOT, 'ops/prometheus/dirsync.rules.yml'), 'utf8')).toContain(`(${names?.[0]}`)
})
