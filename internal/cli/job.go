package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/job"
	"headway/limit"
)

func jobCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "job",
		Short: "Ask a fleet for crawls, and see and change how they stand",
		Long: `Jobs are what a fleet of headway worker crawls for. These commands speak to a
headway serve with --server and a key, or to the PostgreSQL of the fleet with --store,
and print the same. HEADWAY_SERVER and HEADWAY_KEY, or HEADWAY_FLEET_STORE, save
repeating them.`,
	}
	cmd.AddCommand(
		jobSubmitCommand(), jobListCommand(), jobShowCommand(), jobExtendCommand(),
		jobPlanCommand(), jobWhyCommand(), jobSlowCommand(), jobHostsCommand(),
		jobOrderCommand("pause", "Start no further request of a job; it keeps its place", job.Running, job.Paused),
		jobOrderCommand("resume", "Go on with a job that was paused", job.Paused, job.Running),
		jobOrderCommand("drain", "Let what is in flight finish and end the job there", job.Running, job.Draining),
		jobOrderCommand("cancel", "End a job at once; what was fetched is kept", "", job.Cancelled),
		jobPaceCommand(),
	)
	return cmd
}

func jobSubmitCommand() *cobra.Command {
	var name, tenant string
	var asJSON, dry bool
	cmd := &cobra.Command{
		Use:   "submit SEED…",
		Short: "Ask for a crawl",
		Long: `Ask the fleet for a crawl of the seeds. It waits in the queue until there is a
place for it, and then runs on all workers. The number that is printed names it.

With --dry-run robots.txt and sitemaps are read and no page is fetched; headway job
plan tells then how the crawl would go.`,
		Example: `  headway job submit https://example.com --max-pages 1000
  headway job submit --seeds hosts.txt --scope domain --tenant acme`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJobs(cmd, func(ctx context.Context, s *config.Settings, f jobs) error {
				run := crawlRun{set: s, in: cmd.InOrStdin()}
				if err := run.readSeeds(args); err != nil {
					return err
				}
				request := jobspec.Request{Spec: jobspec.Spec{Settings: config.AskedBy(cmd.Flags()), DryRun: dry}, Tenant: tenant, Name: name}
				for _, u := range run.seeds.urls {
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
					return printJSON(cmd.OutOrStdout(), map[string]any{"job": id})
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "job %d is queued; headway job show %d tells how it stands\n", id, id)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "`name` for people; by default the host of the first seed")
	cmd.Flags().StringVar(&tenant, "tenant", "", "`who` asks: tenants take turns")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "read robots.txt and sitemaps and fetch no page")
	config.RegisterJob(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}

func jobListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the jobs of the fleet",
		Long:  `List the jobs of the fleet, by a server those of the key's tenant.`,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withJobs(cmd, func(ctx context.Context, _ *config.Settings, f jobs) error {
				rows, err := f.list(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"jobs": rows})
				}
				return printJobs(cmd.OutOrStdout(), rows)
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printJobs(w io.Writer, rows []answer.Job) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no jobs; headway job submit asks for one")
		return err
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "JOB\tNAME\tTENANT\tSTATE\tPAGES\tWAITING\tCREATED\tENDED")
	for i := range rows {
		r := &rows[i]
		state := string(r.State)
		if r.Reason != "" {
			state += ": " + oneLine(r.Reason)
		}
		fmt.Fprintf(tab, "%d\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", r.Job, oneLine(r.Name), oneLine(r.Tenant), state, r.Pages, r.Waiting, shortTime(r.Created), shortTime(r.Ended))
	}
	return tab.Flush()
}

// jobNumber reads the number of a job.
func jobNumber(arg string) (job.ID, error) {
	n, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || n < 1 {
		return 0, usage(fmt.Errorf("%q is no number of a job", arg), "headway job list names them")
	}
	return job.ID(n), nil
}

func jobShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "Tell how a job stands",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				limits, err := f.limits(ctx, j.Job)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), struct {
						answer.Job
						answer.JobLimits
					}{*j, limits})
				}
				if err := printJobs(cmd.OutOrStdout(), []answer.Job{*j}); err != nil {
					return err
				}
				if err := printOutcomes(cmd.OutOrStdout(), j.Outcomes); err != nil {
					return err
				}
				return printLimits(cmd.OutOrStdout(), &limits)
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	jsonFlag(cmd, &asJSON)
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
	cmd := &cobra.Command{
		Use:   name + " JOB",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				if from != "" && j.State != from {
					return usage(fmt.Errorf("job %d is %s", j.Job, j.State), fmt.Sprintf("only a job that is %s can be changed so", from))
				}
				if err := job.Check(j.State, to); err != nil {
					return usage(err, fmt.Sprintf("headway job show %d tells how it stands", j.Job))
				}
				if err := f.order(ctx, j, name, to); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "job %d: %s, was %s\n", j.Job, to, j.State)
				return err
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	return cmd
}

func jobExtendCommand() *cobra.Command {
	var pages int64
	cmd := &cobra.Command{
		Use:   "extend JOB --max-pages N",
		Short: "Go on with a job that a page limit stopped",
		Long: `Give a job another page limit. What was put off waits again, and a job that had
ended queues for a place. Safety and the plan of the tenant cap it as they do at first,
and the answer says so; they are asked again when the job gets its place.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				if !cmd.Flags().Changed("max-pages") {
					return usage(fmt.Errorf("extend job %d to how many pages?", j.Job), "--max-pages takes the new limit, those it has included; 0 is none")
				}
				if j.State == job.Cancelled {
					return usage(fmt.Errorf("job %d was cancelled, for good", j.Job), "headway job submit asks for another")
				}
				if err := f.extend(ctx, j, pages); err != nil {
					return err
				}
				limits, err := f.limits(ctx, j.Job)
				if err != nil {
					return err
				}
				told := fmt.Sprintf("job %d may have %d pages", j.Job, pages)
				if pages == 0 {
					told = fmt.Sprintf("job %d: %s", j.Job, limit.Ceiling{Limit: limit.Pages})
				}
				for _, l := range limits.Limits {
					if l.Name == limit.Pages && (l.Requested > l.Max || pages == 0) {
						told = fmt.Sprintf("job %d: %s", j.Job, l.Text)
					}
				}
				if j.State.Ended() && j.State != job.Partial {
					told += fmt.Sprintf(", but is %s and does not go on", j.State)
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), told)
				return err
			})
		},
	}
	cmd.Flags().Int64Var(&pages, "max-pages", 0, "new limit of pages; 0 is none")
	config.RegisterClient(cmd.Flags())
	return cmd
}
