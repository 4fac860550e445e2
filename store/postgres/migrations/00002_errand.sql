-- +goose Up

-- Every shelf gets a table of errands; see shelf.sql.
-- +goose StatementBegin
do $$
declare
    s integer;
begin
    for s in select id from shelf loop
        execute format('create table errand_%s (id bigint not null, host bigint not null, fp uuid not null, job integer not null, nested smallint not null,
            ended boolean not null default false, path text not null, primary key (job, host, fp))', s);
        execute format('create index errand_%s_waiting on errand_%s (host, job, id) where not ended', s, s);
    end loop;
end $$;
-- +goose StatementEnd
