// Holds the summary of a first sync on the embedded defaults against what the sample database is known to bring about.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

const [file] = process.argv.slice(2)
// npm prints the script's name first; after that there is one document, and nothing else on standard output.
const summary = JSON.parse(readFileSync(file, 'utf8').replace(/^(?:>.*)?\n/gm, ''))
const expected = JSON.parse(readFileSync(new URL('../examples/hr/expected.json', import.meta.url), 'utf8'))

for (const name of [
  'in_scope',
  'in_sync',
  'updated',
  'partly_updated',
  'awaiting_activation',
  'dead_lettered',
]) {
  assert.equal(summary.employees[name], expected.employees[name], `employees.${name}`)
}
assert.equal(summary.departments.deleted, expected.departments.deleted, 'departments.deleted')
assert.deepEqual(summary.dead_letters, expected.dead_letters, 'dead_letters')

console.log(`The summary is as expected: ${JSON.stringify(summary.employees)}`)
