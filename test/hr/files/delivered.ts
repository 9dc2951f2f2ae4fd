import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import type { FilesSettings } from '../../../src/hr/files/settings.ts'
import { hrServer } from '../../../src/hr/servers.ts'
import { type HrEmployeeRow, HrSource } from '../../../src/hr/source.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { rowsOf } from '../hr-database.ts'
import { settingsOf } from './server-under-test.ts'

/** A folder that HR delivers to, and who reads it. */
export interface Delivered {
  folder: string
  settings: FilesSettings
  /** Moves a file into the folder. */
  deliver(name: string, content: string | Uint8Array): Promise<void>
  /** A source over mappings of employees and departments, closed with the test; each has a process' memory of its own. */
  source(sql: string, departments?: string): HrSource
  /** The rows that a run would read. */
  rows(sql: string): Promise<HrEmployeeRow[]>
}

/** @param given a folder that is there already */
export async function delivered(changes: Partial<FilesSettings> = {}, given?: string): Promise<Delivered> {
  const root = await temporaryFolder()
  const folder = given ?? join(root, 'delivered')
  if (given === undefined) await mkdir(folder)
  const settings = await settingsOf(changes)
  const source = (sql: string, departments?: string) => {
    const made = new HrSource({
      server: hrServer(`files:${folder}`, pino({ level: 'silent' }), settings),
      employeesSql: { file: 'employees.sql', sql },
      departmentsSql: departments === undefined ? null : { file: 'departments.sql', sql: departments },
      logger: pino({ level: 'silent' }),
    })
    onTestFinished(() => made.close())
    return made
  }
  return {
    folder,
    settings,
    async deliver(name, content) {
      await writeFile(join(root, 'new'), content)
      await rename(join(root, 'new'), join(folder, name))
    },
    source,
    rows: async sql => rowsOf(await source(sql).scan({})),
  }
}
