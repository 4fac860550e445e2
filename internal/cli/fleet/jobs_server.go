package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"headway/answer"
	"headway/client"
	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/job"
	"headway/limit"
	"headway/store"
)

// jobsOfServer is a fleet by a server of its API.
type jobsOfServer struct {
	api    *client.Client
	server string
	keyed  bool
}

// maxKeyFile is how many bytes of a file with a key are read.
const maxKeyFile = 4096

// serverPage is how many entries of a list are asked for at once.
const serverPage = 1000

// openServer prepares to speak to the server that the settings name.
func openServer(s *config.Settings) (jobs, error) {
	key := s.Key
	if s.KeyFile != "" {
		file, err := os.Open(s.KeyFile)
		if err != nil {
			return nil, command.Usage(fmt.Errorf("read key: %w", err), "--key-file takes a file that contains the key printed by headway admin key create")
		}
		defer file.Close()
		text, err := io.ReadAll(io.LimitReader(file, maxKeyFile))
		if err != nil {
			return nil, command.Failed(fmt.Errorf("read key: %w", err), "")
		}
		key = string(text)
	}
	api, err := client.New(client.Config{Server: s.Server, Key: key})
	if err != nil {
		return nil, command.Usage(err, "--server takes the URL of a headway serve, for example http://127.0.0.1:8788")
	}
	return &jobsOfServer{api: api, server: s.Server, keyed: key != ""}, nil
}

// Close implements jobs: nothing is held open.
func (f *jobsOfServer) Close() error { return nil }

// explain makes a failure of an error of the API, with what to do next here.
func (f *jobsOfServer) explain(err error) error {
	p, ok := errors.AsType[*client.Problem](err)
	switch {
	case !ok && errors.Is(err, context.Canceled):
		return err
	case !ok:
		return command.Failed(err, fmt.Sprintf("check that headway serve is running at %s: curl %s/readyz", f.server, f.server))
	case p.Code == client.CodeMissingKey:
		return command.Usage(errors.New("the server requires a key"), "pass it with --key-file or HEADWAY_KEY; headway admin key create creates one")
	case p.Status == http.StatusUnauthorized:
		return command.Usage(errors.New(p.Detail), "headway admin key list shows each key's scope; headway admin key create creates a new one")
	case p.Status/100 == 4 && p.Status != http.StatusTooManyRequests:
		bad := *p
		bad.Hint = ""
		return command.Usage(&bad, cmp.Or(p.Hint, "headway job --help lists the commands"))
	default:
		return command.Failed(errors.New(p.Detail), cmp.Or(p.Hint, "try again"))
	}
}

// about is explain for a job, which may not be there.
func (f *jobsOfServer) about(id job.ID, err error) error {
	if p, ok := errors.AsType[*client.Problem](err); ok && p.Code == client.CodeNotFound {
		return noJob(id)
	}
	return f.explain(err)
}

// as reads an answer of the API as what it was made from: the same words, in the type
// that is printed.
func as[T any](from any, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	into := new(T)
	return into, json.Unmarshal(text, into)
}

func (f *jobsOfServer) submit(ctx context.Context, r jobspec.Request, s *config.Settings) (job.ID, error) {
	if r.Tenant != "" {
		return 0, command.Usage(errors.New("--tenant works only with --store"), "remove it: the key determines the tenant")
	}
	body, err := jobRequest(&r, s)
	if err != nil {
		return 0, err
	}
	made, err := f.api.CreateJob(ctx, *body, client.CreateJobParams{})
	if err != nil {
		return 0, f.explain(err)
	}
	return job.ID(made.ID), nil
}

func (f *jobsOfServer) list(ctx context.Context) ([]answer.Job, error) {
	rows := []answer.Job{}
	for found, err := range f.api.AllJobs(ctx, client.ListJobsParams{Limit: serverPage}) {
		row, err := as[answer.Job](found, err)
		if err != nil {
			return nil, f.explain(err)
		}
		rows = append(rows, *row)
	}
	slices.Reverse(rows)
	return rows, nil
}

func (f *jobsOfServer) job(ctx context.Context, id job.ID) (answer.Job, error) {
	row, err := as[answer.Job](f.api.GetJob(ctx, int64(id)))
	if err != nil {
		return answer.Job{}, f.about(id, err)
	}
	return *row, nil
}

func (f *jobsOfServer) limits(ctx context.Context, id job.ID) (answer.JobLimits, error) {
	l, err := as[answer.JobLimits](f.api.GetJobLimits(ctx, int64(id)))
	if err != nil {
		return answer.JobLimits{}, f.about(id, err)
	}
	return *l, nil
}

func (f *jobsOfServer) order(ctx context.Context, j *answer.Job, what string, _ job.State) error {
	order := map[string]func(context.Context, int64) (*client.JobView, error){
		"pause": f.api.PauseJob, "resume": f.api.ResumeJob, "drain": f.api.DrainJob, "cancel": f.api.CancelJob,
	}[what]
	if _, err := order(ctx, int64(j.ID)); err != nil {
		return f.about(j.ID, err)
	}
	return nil
}

func (f *jobsOfServer) setPace(ctx context.Context, j *answer.Job, pace time.Duration) error {
	if _, err := f.api.SetPaceOfJob(ctx, int64(j.ID), client.JobPaceOrder{DelaySeconds: pace.Seconds()}); err != nil {
		return f.about(j.ID, err)
	}
	return nil
}

func (f *jobsOfServer) extend(ctx context.Context, j *answer.Job, to store.Extension) error {
	fields, body := limit.Fields{}, client.Extension{}
	for n, amount := range to {
		fields[n.Rule().Field()], _ = n.InUnits(amount)
	}
	if err := bodyOf(fields, &body); err != nil {
		return err
	}
	if _, err := f.api.ExtendJob(ctx, int64(j.ID), body); err != nil {
		return f.about(j.ID, err)
	}
	return nil
}

// why asks for what was typed, as https and as http where it has no scheme, and takes
// the one that the job has met.
func (f *jobsOfServer) why(ctx context.Context, id job.ID, text string) (*answer.Why, error) {
	readings, err := command.ReadURL(text)
	if err != nil {
		return nil, err
	}
	var first *answer.Why
	for _, r := range readings {
		w, err := as[answer.Why](f.api.ExplainURL(ctx, int64(id), client.ExplainURLParams{URL: r.URL.String()}))
		if err != nil {
			return nil, f.about(id, err)
		}
		if w.Seen {
			return w, nil
		}
		first = cmp.Or(first, w)
	}
	return first, nil
}

func (f *jobsOfServer) hosts(ctx context.Context, id job.ID, q answer.HostQuery, _ io.Writer) (*answer.Hosts, error) {
	j, err := f.job(ctx, id)
	if err != nil {
		return nil, err
	}
	list := answer.NewHostLister(q, time.Now().UTC(), store.Active(j.State), store.Job{State: j.State, Reason: j.Reason})
	for page, err := range f.api.AllHostsOfJob(ctx, int64(id), client.ListHostsOfJobParams{Limit: serverPage}) {
		h, err := as[answer.Host](page, err)
		if err != nil {
			return nil, f.about(id, err)
		}
		list.Add(*h)
	}
	return list.Hosts(), nil
}

func (f *jobsOfServer) slow(ctx context.Context, id job.ID, _ io.Writer) (*answer.Slow, error) {
	slow, err := as[answer.Slow](f.api.ExplainPaceOfJob(ctx, int64(id)))
	if err != nil {
		return nil, f.about(id, err)
	}
	return slow, nil
}

func (f *jobsOfServer) plan(ctx context.Context, id job.ID, _ io.Writer) (*answer.Plan, error) {
	plan, err := as[answer.Plan](f.api.GetJobPlan(ctx, int64(id)))
	if p, ok := errors.AsType[*client.Problem](err); ok && p.Code == client.CodeNotADryRun {
		return nil, notDry(id)
	}
	if err != nil {
		return nil, f.about(id, err)
	}
	return plan, nil
}
