import { access, chmod, constants, mkdir } from 'node:fs/promises'
import { EmbeddedError } from './embedded-error.ts'

/**
 * Makes the folder unless it is there. Others may pass through it, to what the server's account owns inside; the
 * secrets in it have a mode of their own.
 *
 * @throws EmbeddedError `EMBEDDED_NOT_YOURS` when this user may not write there
 */
export async function openFolder(folder: string): Promise<void> {
  try {
    if (await mkdir(folder, { recursive: true })) await chmod(folder, 0o711)
    await access(folder, constants.W_OK)
  } catch (cause) {
    throw new EmbeddedError(
      'EMBEDDED_NOT_YOURS',
      `The folder ${folder} cannot be written by this user: run dirsync as the user it belongs to, or where this user may write.`,
      { cause },
    )
  }
}
