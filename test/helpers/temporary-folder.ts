import { chmod, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { inject } from 'vitest'

/** A new folder that other users may enter; it is removed when the run ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(inject('runFolder'), 'folder-'))
  await chmod(folder, 0o711)
  return folder
}
