package fleet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/cli/command"
	"headway/internal/cli/crawl"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/job"
	"headway/limit"
	"headway/store"
)

// JobCommand builds `headway job`.
func JobCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "job",
		Short: "Submit, inspect and control crawl jobs of a fleet",
		Long: `Submit, inspect and control the crawl jobs of a fleet. Use a headway serve
(--server and a key, or HEADWAY_SERVER and HEADWAY_KEY) or the fleet's
PostgreSQL (--store, or HEADWAY_FLEET_STORE). The output is the same.`,
	}
	cmd.AddCommand(
		jobSubmitCommand(), jobListCommand(), jobShowCommand(), jobExtendCommand(),
		jobPlanCommand(), jobWhyCommand(), jobSlowCommand(), jobHostsCommand(),
		jobOrderCommand("pause", "Pause a job: start no new requests", job.Running, job.Paused),
		jobOrderCommand("resume", "Resume a paused job", job.Paused, job.Running),
		jobOrderCommand("drain", "Finish the requests in flight and end a job", job.Running, job.Draining),
		jobOrderCommand("cancel", "End a job immediately; fetched pages are kept", "", job.Cancelled),
		jobPaceCommand(),
	)
	return cmd
}

func jobSubmitCommand() *cobra.Command {
	var name, tenant string
	var asJSON, dry bool
	cmd := &cobra.Command{
		Use:   "submit SEED…",
		Short: "Submit a crawl job",
		Long: `Submit a crawl job. It is queued until a place is free, then runs on all
workers. The command prints the job number.

With --dry-run the job reads robots.txt and sitemaps and fetches no pages;
headway job plan shows its result.`,
		Example: `  headway job submit https://example.com --max-pages 1000
  headway job submit --seeds hosts.txt --scope domain --tenant acme`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJobs(cmd, func(ctx context.Context, s *config.Settings, f jobs) error {
				from, err := crawl.ReadSeeds(s, args, cmd.InOrStdin())
				if err != nil {
					return err
				}
				request := jobspec.Request{Spec: jobspec.Spec{Settings: config.AskedBy(cmd.Flags(), s), DryRun: dry}, Tenant: tenant, Name: name}
				for _, u := range from.URLs {
					request.Seeds = append(request.Seeds, u.String())
				}
				if len(args) > 0 && s.SeedsFile == "" {
					request.Seeds = args // as they were written: a bare host may fall back to http
				}
				id, err := f.submit(ctx, request, s)
				if err != nil {
					return err
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"id": id})
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "job %d queued; for progress run: headway job show %d\n", id, id)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "display `name` (default: the host of the first seed)")
	cmd.Flags().StringVar(&tenant, "tenant", "", "`tenant` that the job belongs to; tenants are scheduled in turn")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "dry run: read robots.txt and sitemaps, fetch no pages")
	config.RegisterJob(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	return cmd
}

func jobListCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List jobs",
		Long:  `List the jobs of the fleet; with --server, those of the key's tenant.`,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withJobs(cmd, func(ctx context.Context, _ *config.Settings, f jobs) error {
				rows, err := f.list(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"jobs": rows})
				}
				return printJobs(cmd.OutOrStdout(), rows, wide)
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

func printJobs(w io.Writer, rows []answer.Job, wide bool) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no jobs; headway job submit creates one")
		return err
	}
	tab := command.NewTable("JOB", "~NAME", "~TENANT", "~STATE", "PAGES", "WAITING", "+CREATED", "+ENDED")
	for i := range rows {
		r := &rows[i]
		state := string(r.State)
		if r.Reason != "" {
			state += ": " + command.OneLine(r.Reason)
		}
		tab.Add(r.ID, command.OneLine(r.Name), command.OneLine(r.Tenant), state, r.Pages, r.Waiting, command.ShortTime(r.CreatedAt), command.ShortTime(r.EndedAt))
	}
	return tab.Print(w, wide)
}

// jobNumber reads the number of a job.
func jobNumber(arg string) (job.ID, error) {
	n, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || n < 1 {
		return 0, command.Usage(fmt.Errorf("invalid job ID %q", arg), "headway job list shows all jobs")
	}
	return job.ID(n), nil
}

// shownJob is a job with its limits in force.
type shownJob struct {
	answer.Job
	Ceilings []answer.Ceiling `json:"ceilings"`
	Warnings []string         `json:"warnings"`
}

func newShownJob(j *answer.Job, l *answer.JobLimits) shownJob {
	return shownJob{*j, l.Ceilings, l.Warnings}
}

func jobShowCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "Show the state, outcomes and limits of a job",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				limits, err := f.limits(ctx, j.ID)
				if err != nil {
					return err
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), newShownJob(j, &limits))
				}
				if err := printJobs(cmd.OutOrStdout(), []answer.Job{*j}, wide); err != nil {
					return err
				}
				if j.Queue != nil {
					fmt.Fprintf(cmd.OutOrStdout(), "\nqueue: %s\n", j.Queue.Text)
				}
				if err := printOutcomes(cmd.OutOrStdout(), j.Outcomes); err != nil {
					return err
				}
				return printLimits(cmd.OutOrStdout(), &limits)
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

// printOutcomes lists how URLs ended, the most frequent first.
func printOutcomes(w io.Writer, outcomes map[string]int64) error {
	if len(outcomes) == 0 {
		return nil
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab)
	for _, key := range slices.SortedFunc(maps.Keys(outcomes), func(a, b string) int {
		return cmp.Or(cmp.Compare(outcomes[b], outcomes[a]), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(tab, "%s\t%d\n", key, outcomes[key])
	}
	return tab.Flush()
}

// jobOrderCommand moves a job to another state; from any where none is named.
func jobOrderCommand(name, short string, from, to job.State) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   name + " JOB",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				if from != "" && j.State != from {
					return command.Usage(fmt.Errorf("job %d is %s", j.ID, j.State), fmt.Sprintf("only a job in state %s can be changed this way", from))
				}
				if err := job.Check(j.State, to); err != nil {
					return command.Usage(err, fmt.Sprintf("headway job show %d shows its state", j.ID))
				}
				if err := f.order(ctx, j, name, to); err != nil {
					return err
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"job": j.ID, "order": name, "before": j.State, "after": to})
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "job %d: %s, was %s\n", j.ID, to, j.State)
				return err
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	return cmd
}

func jobExtendCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "extend JOB",
		Short: "Raise limits of a job and continue it",
		Long: `Set new limits for a job: pages, requests, bytes or running time, each
including what the job has already used; 0 means no limit. Deferred URLs are
queued again, and a job that a limit stopped waits for a free place. The safety
limits and the tenant's plan still apply; if they cap a limit, the output says
so.`,
		Example: `  headway job extend 7 --max-pages 1000
  headway job extend 7 --max-time 2h --max-requests 5000`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := config.Extension(cmd.Flags())
			if err != nil {
				return command.Usage(err, command.HintOf(err))
			}
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				if len(to) == 0 {
					return command.Usage(fmt.Errorf("cannot extend job %d: no limit given", j.ID), "give a new limit, for example --max-pages 1000 or --max-time 2h; 0 means no limit")
				}
				if j.State == job.Cancelled {
					return command.Usage(fmt.Errorf("job %d is cancelled and cannot be extended", j.ID), "headway job submit creates a new job")
				}
				if err := f.extend(ctx, j, to); err != nil {
					return err
				}
				limits, err := f.limits(ctx, j.ID)
				if err != nil {
					return err
				}
				if asJSON {
					after, err := f.job(ctx, j.ID)
					if err != nil {
						return err
					}
					return command.PrintJSON(cmd.OutOrStdout(), newShownJob(&after, &limits))
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), extendedInWords(j, to, &limits))
				return err
			})
		},
	}
	config.RegisterExtension(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	return cmd
}

// extendedInWords says which limits are in force after an extension.
func extendedInWords(j *answer.Job, to store.Extension, limits *answer.JobLimits) string {
	var list []string
	for _, n := range limit.Extendable {
		if _, ok := to[n]; !ok {
			continue
		}
		text := limit.Ceiling{Limit: n}.String()
		for _, l := range limits.Ceilings {
			if l.Limit == n {
				text = l.Text
			}
		}
		list = append(list, text)
	}
	text := fmt.Sprintf("job %d: %s", j.ID, strings.Join(list, ", "))
	if j.State.Ended() && j.State != job.Partial {
		text += fmt.Sprintf(", but the job is %s and will not continue", j.State)
	}
	return text
}
