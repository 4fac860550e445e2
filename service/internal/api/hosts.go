package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/answer"
	"headway/ask"
	"headway/politeness"
	"headway/store"
	"headway/weburl"
)

// orderTime is how long to wait for the owner of a host to carry out an order.
const orderTime = 10 * time.Second

// HostName names a host in a body.
type HostName struct {
	Host string `json:"host" minLength:"1" maxLength:"300" doc:"Scheme and hostname, and the port if it is not the default of the scheme." example:"https://example.com"`
}

// HostPace is a pace for a host.
type HostPace struct {
	HostName
	Delay ask.Seconds `json:"delay_seconds" minimum:"0" maximum:"604800" doc:"Minimum interval between requests to the host; 0 removes it. Crawl-delay, Retry-After and the learned pace still apply."`
}

// HostChange is the result of an order to a host.
type HostChange struct {
	Host   string `json:"host"`
	Order  string `json:"order"`
	Before string `json:"before" doc:"The state of the host before the order, in words for people."`
	After  string `json:"after" doc:"The state of the host after the order, in words for people."`
	Worker int64  `json:"worker,omitempty" doc:"The worker that owns the host and carried out the order."`
}

// HostList is the hosts that workers are scheduling now.
type HostList struct {
	Hosts    []answer.Host `json:"hosts" nullable:"false"`
	Asked    int           `json:"asked" doc:"Number of workers queried."`
	Answered int           `json:"answered" doc:"Number of workers that answered; hosts of the others are missing from the list."`
}

// JobHosts is a page of the hosts of a job, in the order they were found.
type JobHosts struct {
	Hosts      []answer.Host `json:"hosts" nullable:"false"`
	NextCursor string        `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

func (a *API) registerHosts() {
	tags := []string{"hosts"}
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-hosts-of-job", Method: http.MethodGet, Path: "/v1/jobs/{job}/hosts", Tags: tags, Summary: "List the hosts of a job from the database: pace, what sets it, incidents, queue",
		Description: "Pace and incidents belong to the host and include those caused by other jobs.",
	}, a.listJobHosts, NotFound)
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "list-hosts", Method: http.MethodGet, Path: "/v1/hosts", Tags: tags, Summary: "List the hosts that workers are scheduling now",
		Description: "Shows pace, what sets it, floor, hold and incidents, from the memory of the workers that own the hosts. Hosts are shared by all tenants.",
	}, a.listHosts, NoWorker, OrderRefused)
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "get-host", Method: http.MethodGet, Path: "/v1/hosts/one", Tags: tags, Summary: "Get the state of one host and the history of its pace",
		Description: "Shows learned pace, floor, streaks, incidents and hold, from the worker that owns the host or, if there is none, from the database.",
	}, a.getHost, NotFound)
	for _, o := range []struct {
		name, summary string
		kind          ask.Kind
	}{
		{"pause", "Pause a host: send it no further requests, for any job", ask.KindPause},
		{"resume", "Resume a paused host", ask.KindResume},
		{"forget", "Discard what was learned about a host", ask.KindForget},
	} {
		register(a, store.ScopeOperator, huma.Operation{
			OperationID: o.name + "-host", Method: http.MethodPost, Path: "/v1/hosts/" + o.name, Tags: tags, Summary: o.summary,
		}, func(ctx context.Context, in *struct{ Body HostName }) (*struct{ Body HostChange }, error) {
			return a.orderHost(ctx, ask.Question{Kind: o.kind, Host: in.Body.Host})
		}, NoWorker, OrderRefused)
	}
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "set-pace-of-host", Method: http.MethodPost, Path: "/v1/hosts/set-pace", Tags: tags, Summary: "Set the minimum interval between requests to a host",
	}, func(ctx context.Context, in *struct{ Body HostPace }) (*struct{ Body HostChange }, error) {
		return a.orderHost(ctx, ask.Question{Kind: ask.KindSlow, Host: in.Body.Host, Delay: in.Body.Delay})
	}, NoWorker, OrderRefused)
}

// getHost shows one host: from its owner, or from the database.
func (a *API) getHost(ctx context.Context, in *OneHost) (*struct{ Body answer.HostStory }, error) {
	if err := checkHost(in.Host); err != nil {
		return nil, err
	}
	all := answer.Crawl{Store: a.store, Fleet: true, Running: true, Asker: ask.NewFleet(a.store)}
	h, err := all.Host(ctx, in.Host, time.Now().UTC())
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem(NotFound, "unknown host: "+in.Host, "list the hosts of a job with GET /v1/jobs/{job}/hosts")
	}
	return &struct{ Body answer.HostStory }{h}, err
}

// jobHostsInput selects hosts of a job.
type jobHostsInput struct {
	OneJob
	Host string `query:"host" maxLength:"300" doc:"Only this host."`
	Paging
}

func (a *API) listJobHosts(ctx context.Context, in *jobHostsInput) (*struct{ Body JobHosts }, error) {
	j, err := a.findJob(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	asked, err := a.askedOf(&j)
	if err != nil {
		return nil, err
	}
	if err := checkHost(in.Host); err != nil {
		return nil, err
	}
	list := listName("hosts", j.Tenant, strconv.FormatInt(in.Job, 10), in.Host)
	place, err := a.openCursor(list, in.Cursor)
	if err != nil {
		return nil, err
	}
	page, err := a.store.HostList(ctx, store.HostListQuery{Job: j.ID, Host: in.Host, After: store.HostCursor(place), Max: in.Limit})
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	out := &struct{ Body JobHosts }{JobHosts{Hosts: []answer.Host{}, NextCursor: a.sealCursor(list, string(page.Next))}}
	for i := range page.Hosts {
		h, err := answer.NewHost(&page.Hosts[i], asked.Policy, nil, now)
		if err != nil {
			return nil, err
		}
		out.Body.Hosts = append(out.Body.Hosts, h)
	}
	return out, nil
}

// hostsInput selects hosts.
type hostsInput struct {
	Host  string `query:"host" maxLength:"300" doc:"Only this host."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of results."`
}

func (a *API) listHosts(ctx context.Context, in *hostsInput) (*struct{ Body HostList }, error) {
	q := ask.Question{Kind: ask.KindHosts, Host: in.Host, Max: in.Limit}
	answered, err := a.askFleet(ctx, askTime, q)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	out := &struct{ Body HostList }{HostList{Hosts: []answer.Host{}, Asked: answered.Asked, Answered: answered.Answered}}
	for i := range answered.Hosts[:min(in.Limit, len(answered.Hosts))] {
		live := &answered.Hosts[i]
		h, err := answer.NewHost(&store.HostEntry{Host: store.Host{Host: live.Host}}, politeness.Policy{}, live, now)
		if err != nil {
			return nil, err
		}
		out.Body.Hosts = append(out.Body.Hosts, h)
	}
	return out, nil
}

// orderHost sends an order to the owner of a host. The owner logs it.
func (a *API) orderHost(ctx context.Context, q ask.Question) (*struct{ Body HostChange }, error) {
	q.By = callerOf(ctx).name()
	answered, err := a.askFleet(ctx, orderTime, q)
	if err != nil {
		return nil, err
	}
	if answered.Change == nil {
		return nil, newProblem(OrderRefused, "the worker that owns the host did not confirm the order")
	}
	c := answered.Change
	return &struct{ Body HostChange }{HostChange{Host: c.Host, Order: string(c.Order), Before: c.Before, After: c.After, Worker: int64(c.Worker)}}, nil
}

// namedHost reads a host as people name it, and returns its home page. A name alone
// means https.
func namedHost(text string) (weburl.URL, error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	if err := checkHost(text); err != nil {
		return weburl.URL{}, err
	}
	return store.ParseHost(text)
}

// askFleet queries the owners of hosts.
func (a *API) askFleet(ctx context.Context, within time.Duration, q ask.Question) (ask.Answer, error) {
	if err := checkHost(q.Host); err != nil {
		return ask.Answer{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	answered, err := ask.NewFleet(a.store).Ask(bounded, q)
	switch {
	case errors.Is(err, ask.ErrNoAnswer), errors.Is(err, context.DeadlineExceeded):
		return answered, newProblem(NoWorker, "no worker answered")
	case err != nil:
		return answered, err
	case answered.Error != "":
		return answered, newProblem(OrderRefused, answered.Error)
	default:
		return answered, nil
	}
}
