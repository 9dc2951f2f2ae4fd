import { hrContract } from '../contract/contract.ts'
import { MARIADB_KIND } from './server-under-test.ts'

hrContract(MARIADB_KIND)
