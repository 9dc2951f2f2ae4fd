import { hrContract } from '../contract/contract.ts'
import { POSTGRES_KIND } from './server-under-test.ts'

hrContract(POSTGRES_KIND)
