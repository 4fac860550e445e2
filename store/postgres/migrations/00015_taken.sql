-- +goose Up

-- The hosts that a job has taken up, of jobs with a limit of hosts.
create table taken (
    job  int not null,
    host text collate "C" not null,
    primary key (job, host)
);
