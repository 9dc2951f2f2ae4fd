import { hrContract } from '../contract/contract.ts'
import { FILES_KIND } from './server-under-test.ts'

hrContract(FILES_KIND)
