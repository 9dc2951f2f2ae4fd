// A reporter of vitest for again.mjs: writes down which test files failed.
import { writeFileSync } from 'node:fs'

export default class FailedFiles {
  onTestRunEnd(modules, errors) {
    const files = modules.filter(module => !module.ok()).map(({ moduleId }) => moduleId)
    writeFileSync(process.env.FAILED_FILES, JSON.stringify({ files, strayErrors: errors.length }))
  }
}
