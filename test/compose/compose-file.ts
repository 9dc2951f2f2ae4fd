import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

export const ROOT = join(import.meta.dirname, '../..')

/** What the tests look at in a service, in the long forms that the file and `config` have in common. */
export interface Service {
  image: string
  build?: unknown
  pull_policy?: string
  mem_limit?: string
  entrypoint?: string[]
  user?: string
  profiles?: string[]
  read_only?: boolean
  cap_drop?: string[]
  cap_add?: string[]
  privileged?: boolean
  security_opt?: string[]
  tmpfs?: string[]
  environment?: Record<string, string>
  env_file?: unknown
  secrets?: (string | { source: string })[]
  command?: string[]
  ports?: unknown[]
  container_name?: string
  restart?: string
  stop_grace_period?: string
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test?: string[]; disable?: boolean }
  networks?: string[] | Record<string, unknown>
  volumes?: unknown[]
  logging?: { options: Record<string, string> }
}

export interface ComposeFile {
  services: Record<string, Service>
  secrets: Record<string, { file: string }>
  networks: Record<string, { internal?: boolean }>
  volumes: Record<string, unknown>
}

/** The compose file as it stands, anchors resolved and variables not. */
export function readComposeFile(): ComposeFile {
  return parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as ComposeFile
}

/** Names of a service's secrets, of its networks. */
export const secretsOf = (service: Service) =>
  (service.secrets ?? []).map(secret => (typeof secret === 'string' ? secret : secret.source))
export const networksOf = (service: Service) =>
  Array.isArray(service.networks) ? service.networks : Object.keys(service.networks ?? {})
