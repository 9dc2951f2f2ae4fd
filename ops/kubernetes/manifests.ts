import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { IDeployment } from 'kubernetes-models/apps/v1'
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1'
import type { IContainer, IService } from 'kubernetes-models/v1'
import { stringify } from 'yaml'
import { ROLES, type Role } from '../../src/sync/processes/process.ts'
import { VERSION } from '../../src/version.ts'

/** `npm run ops:kubernetes`: generates dirsync.yaml, a Deployment for each role. docs/scale.md tells how it is used. */

interface Port {
  name: string
  number: number
}

interface Kind {
  replicas: number
  memory?: string
  /** What others connect to; the rest is reached by probes and Prometheus alone. */
  port?: Port
}

const CONSOLE: Port = { name: 'console', number: 8080 }

const KINDS: Record<Role, Kind> = {
  // The second takes over when the first one dies. A dry run has DRY_RUN_MEMORY_MB beside its own memory.
  scheduler: { replicas: 2, memory: '1Gi' },
  worker: { replicas: 2 },
  console: { replicas: 1, port: CONSOLE },
  notifications: { replicas: 2, port: { name: 'notifications', number: 8081 } },
}

/** Workers share one rate: more of them help only where each is too slow for its part. */
const MOST_WORKERS = 6
/** Work has been late by so many seconds, beyond what the permitted rate explains. */
const LATE_SECONDS = 60
/** What a process takes to end, and some seconds. */
const GRACE_SECONDS = 15

const labelsOf = (role: Role) => ({
  'app.kubernetes.io/name': 'dirsync',
  'app.kubernetes.io/component': role,
})
const metadataOf = (role: Role) => ({ name: `dirsync-${role}`, labels: labelsOf(role) })

const SECRETS = '/run/secrets'
const SECRET_SETTINGS = [
  'DATABASE_URL',
  'REDIS_URL',
  'HR_DATABASE_URL',
  'PLATFORM_APP_SECRET',
  'CONSOLE_TOKEN',
]

const containerOf = ({ memory = '512Mi' }: Kind) =>
  ({
    image: `dirsync:${VERSION}`,
    envFrom: [{ configMapRef: { name: 'dirsync' } }],
    env: SECRET_SETTINGS.map(name => ({ name: `${name}_FILE`, value: `${SECRETS}/${name.toLowerCase()}` })),
    volumeMounts: [
      { name: 'secrets', mountPath: SECRETS, readOnly: true },
      { name: 'mapping', mountPath: '/mapping', readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
    ],
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory } },
  }) satisfies Partial<IContainer>

function deploymentOf(role: Role): IDeployment {
  const { replicas, port } = KINDS[role]
  const container = containerOf(KINDS[role])
  const ports = [CONSOLE, ...(port && port !== CONSOLE ? [port] : [])]
  const probe = (path: string) => ({ httpGet: { path, port: CONSOLE.name }, timeoutSeconds: 5 })
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadataOf(role),
    spec: {
      // The autoscaler says how many workers there are.
      ...(role === 'worker' ? {} : { replicas }),
      selector: { matchLabels: labelsOf(role) },
      template: {
        metadata: { labels: labelsOf(role) },
        spec: {
          automountServiceAccountToken: false,
          // Their variables would be read as settings.
          enableServiceLinks: false,
          terminationGracePeriodSeconds: GRACE_SECONDS,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 1000,
            runAsGroup: 1000,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: labelsOf(role) },
            },
          ],
          initContainers: [{ ...container, name: 'migrate', args: ['migrate'] }],
          containers: [
            {
              ...container,
              name: 'dirsync',
              args: ['start', '--roles', role === 'console' ? role : `${role},console`],
              ports: ports.map(({ name, number }) => ({ name, containerPort: number })),
              startupProbe: { ...probe('/healthz'), periodSeconds: 2, failureThreshold: 60 },
              livenessProbe: { ...probe('/healthz'), periodSeconds: 10, failureThreshold: 6 },
              readinessProbe: { ...probe('/readyz'), periodSeconds: 10 },
            },
          ],
          volumes: [
            { name: 'secrets', secret: { secretName: 'dirsync' } },
            { name: 'mapping', configMap: { name: 'dirsync-mapping' } },
            { name: 'tmp', emptyDir: {} },
          ],
        },
      },
    },
  }
}

function budgetOf(role: Role): IPodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: metadataOf(role),
    // Evicting a pod that is not ready, as while a store is away, harms nothing, and a node must not wait for it.
    spec: {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: labelsOf(role) },
    },
  }
}

function serviceOf(role: Role): IService[] {
  const { port } = KINDS[role]
  if (port === undefined) return []
  const ports = [{ name: port.name, port: port.number, targetPort: port.name }]
  const metadata = metadataOf(role)
  return [{ apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: labelsOf(role), ports } }]
}

function autoscalerOfWorkers(): IHorizontalPodAutoscaler {
  const metadata = metadataOf('worker')
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata,
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: metadata.name },
      minReplicas: KINDS.worker.replicas,
      maxReplicas: MOST_WORKERS,
      metrics: [
        {
          type: 'External',
          external: {
            metric: { name: 'dirsync_work_oldest_age_seconds' },
            target: { type: 'Value', value: String(LATE_SECONDS) },
          },
        },
      ],
      behavior: { scaleDown: { stabilizationWindowSeconds: 900 } },
    },
  }
}

export const OBJECTS = [
  ...ROLES.flatMap(role => [deploymentOf(role), budgetOf(role), ...serviceOf(role)]),
  autoscalerOfWorkers(),
]

const HEAD = `# dirsync on Kubernetes: docs/scale.md tells what it needs, and how to use it.
# Generated by \`npm run ops:kubernetes\` from manifests.ts.
`

export const FILE = join(import.meta.dirname, 'dirsync.yaml')
export const TEXT = `${HEAD}${OBJECTS.map(object => `---\n${stringify(object, { aliasDuplicateObjects: false })}`).join('')}`

if (import.meta.main) writeFileSync(FILE, TEXT)
