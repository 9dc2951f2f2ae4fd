-- A company as MySQL's well-known sample has it: who works where, and as what, from when to when.
-- Present rows end on 9999-01-01. The rows are generated from numbers, and fictitious.

drop database if exists company;
create database company character set utf8mb4;
use company;

create table employees (
  emp_no     int primary key,
  birth_date date not null,
  first_name varchar(14) not null,
  last_name  varchar(16) not null,
  gender     enum ('M', 'F') not null,
  hire_date  date not null
);

create table departments (
  dept_no   char(4) primary key,
  dept_name varchar(40) not null unique
);

create table dept_emp (
  emp_no    int not null,
  dept_no   char(4) not null,
  from_date date not null,
  to_date   date not null,
  primary key (emp_no, dept_no),
  foreign key (emp_no) references employees (emp_no),
  foreign key (dept_no) references departments (dept_no)
);

create table titles (
  emp_no    int not null,
  title     varchar(50) not null,
  from_date date not null,
  to_date   date,
  primary key (emp_no, title, from_date),
  foreign key (emp_no) references employees (emp_no)
);

insert into departments values
  ('d001', 'Brewing'), ('d002', 'Bottling'), ('d003', 'Sales'), ('d004', 'Books');

-- Two hundred people; every fortieth has left.
insert into employees
with recursive n as (select 1 as i union all select i + 1 from n where i < 200)
select 10000 + i, date '1970-01-15' + interval i * 37 day,
  concat(elt(1 + i % 5, 'Ba', 'Ki', 'Lu', 'Mo', 'Wen'), elt(1 + floor(i / 5) % 4, 'den', 'fi', 'nar', 'zu')),
  concat(elt(1 + i % 7, 'Gor', 'Hal', 'Pe', 'Ros', 'Sil', 'Tan', 'Vi'), elt(1 + floor(i / 7) % 3, 'lun', 'mo', 'ba')),
  if(i % 2 = 0, 'F', 'M'), date '2005-03-01' + interval i * 31 day
from n;

insert into dept_emp
select emp_no, concat('d00', 1 + emp_no % 4), hire_date,
  if(emp_no % 40 = 0, date '2026-01-31', date '9999-01-01')
from employees;

-- Every tenth has worked somewhere else before.
insert into dept_emp
select emp_no, concat('d00', 1 + (emp_no + 1) % 4), hire_date - interval 1 year, hire_date
from employees where emp_no % 10 = 0;

insert into titles
select emp_no, elt(1 + emp_no % 3, 'Staff', 'Senior Staff', 'Manager'), hire_date,
  if(emp_no % 40 = 0, date '2026-01-31', date '9999-01-01')
from employees;
