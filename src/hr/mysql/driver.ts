import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

/** MySQL's driver. Processes whose HR is elsewhere do without it, and the memory that it takes. */
export const driver = (): typeof import('mysql2') => load('mysql2')
