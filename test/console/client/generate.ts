import { readFileSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/*
 * `node generate.ts openapi.json dirsync.d.ts`: types from the description of the API. openapi-typescript writes with the
 * compiler's interface of TypeScript 5, which TypeScript 7 has no longer: @ts-morph/common holds one.
 */

const [description = '', types = ''] = process.argv.slice(2)
const TYPESCRIPT_5 = `data:text/javascript,import { ts } from ${JSON.stringify(import.meta.resolve('@ts-morph/common'))}; export default ts`

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'typescript' ? { url: TYPESCRIPT_5, shortCircuit: true } : next(specifier, context),
})
const { default: openapiTS, astToString } = await import('openapi-typescript')
writeFileSync(types, astToString(await openapiTS(JSON.parse(readFileSync(description, 'utf8')))))
