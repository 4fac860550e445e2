-- +goose Up

-- The jobs of one tenant, the newest first.
create index job_tenant on job (tenant, id);

-- A limit that comes near or stops a job is told like what becomes of the job.
-- +goose StatementBegin
create function tell_limit() returns trigger language plpgsql set search_path from current as $$
begin
    insert into event (at, tenant, job, kind, body)
        select new.at, j.tenant, j.id, case when new.percent < 100 then 'limit.near' else 'limit.reached' end,
            jsonb_build_object('limit', new.name, 'layer', new.layer, 'max', new.max, 'observed', new.observed, 'percent', new.percent, 'reason', new.text)::text
        from job j where j.id = new.job;
    return null;
end $$;
-- +goose StatementEnd

create trigger limit_told after insert or update on notice for each row execute function tell_limit();
