package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"headway/internal/config"
	"headway/service/apikey"
	"headway/store"
	"headway/store/postgres"
)

// rotateGrace is how long a key that was replaced stays valid.
const rotateGrace = 24 * time.Hour

func adminKeyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Make, list, replace and revoke keys to the API",
		Long: `Keys to the API of headway serve. A key speaks for one tenant and opens one scope:
read, write (which includes read) or operator (which includes both, and what all
tenants share). It is shown once, when it is made; only its digest is stored.`,
	}
	cmd.AddCommand(keyCreateCommand(), keyListCommand(), keyRotateCommand(), keyRevokeCommand())
	return cmd
}

// keyRow is a key as it is told.
type keyRow struct {
	Key     string      `json:"key"` // the public part
	Tenant  string      `json:"tenant"`
	Name    string      `json:"name,omitempty"`
	Scope   store.Scope `json:"scope"`
	State   string      `json:"state"`
	Created time.Time   `json:"created"`
	Expires time.Time   `json:"expires,omitzero"`
	Used    time.Time   `json:"used,omitzero"` // last, to the hour
	Revoked time.Time   `json:"revoked,omitzero"`
	Secret  string      `json:"secret,omitempty"` // the key itself, only when it is made
}

func newKeyRow(k *store.APIKey, now time.Time) keyRow {
	row := keyRow{Key: k.ID, Tenant: k.Tenant, Name: k.Name, Scope: k.Scope, State: "valid", Created: k.CreatedAt, Expires: k.ExpiresAt, Used: k.UsedAt, Revoked: k.RevokedAt}
	switch {
	case !k.RevokedAt.IsZero():
		row.State = "revoked"
	case !k.Valid(now):
		row.State = "expired"
	}
	return row
}

// keyFailure is what went wrong with a key, for people.
func keyFailure(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict):
		return usage(err, "headway admin key list names the keys and their states")
	default:
		return failed(err, "")
	}
}

func keyCreateCommand() *cobra.Command {
	var tenant, name, scope string
	var life time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a key and print it, once",
		Long: `Make a key for a tenant that there is. Without --tenant it speaks for nobody: that is
for operators, and for jobs that were submitted without a tenant.`,
		Example: `  headway admin key create --tenant acme --scope write --name ci
  headway admin key create --tenant acme --scope read --expires 2160h`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(store.Scopes, store.Scope(scope)) {
				return usage(fmt.Errorf("there is no scope %q", scope), "--scope is read, write or operator")
			}
			if life < 0 {
				return usage(fmt.Errorf("a key that expires after %s", life), "--expires is a time from now, such as 2160h; 0 is never")
			}
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				if err := knownTenant(ctx, st, tenant); err != nil {
					return err
				}
				now := time.Now().UTC()
				k := store.APIKey{Tenant: tenant, Name: name, Scope: store.Scope(scope), CreatedAt: now}
				if life > 0 {
					k.ExpiresAt = now.Add(life)
				}
				made := apikey.New()
				k.ID, k.Sum = made.ID, made.Sum()
				o := store.Order{What: "create-key", Tenant: k.Tenant, About: k.ID, After: keyInWords(&k, now)}
				if err := ordered(ctx, st, o, func(ctx context.Context) error { return st.CreateKey(ctx, now, k) }); err != nil {
					return keyFailure(err)
				}
				return printKey(cmd, &k, made, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "`who` the key speaks for; by default nobody")
	cmd.Flags().StringVar(&name, "name", "", "`name` for people")
	cmd.Flags().StringVar(&scope, "scope", string(store.ScopeRead), "what it opens: read, write or operator")
	cmd.Flags().DurationVar(&life, "expires", 0, "how long it is valid; 0 is for good")
	config.RegisterStore(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}

// knownTenant refuses a tenant that nobody has made: it would have no plan, and what
// it uses would be counted nowhere. No tenant at all is fine.
func knownTenant(ctx context.Context, st store.Tenants, name string) error {
	list, err := st.Tenants(ctx)
	switch {
	case name == "":
		return nil
	case err != nil:
		return failed(err, "")
	case findTenant(list, name) < 0:
		return usage(fmt.Errorf("there is no tenant %q", name), fmt.Sprintf("headway admin tenant set %s makes it", oneLine(name)))
	}
	return nil
}

// printKey shows a key that was made. The key alone is on the standard output, so
// that it can be piped to where it is kept.
func printKey(cmd *cobra.Command, k *store.APIKey, made apikey.Key, asJSON bool) error {
	if asJSON {
		row := newKeyRow(k, time.Now())
		row.Secret = made.Text
		return printJSON(cmd.OutOrStdout(), row)
	}
	whose := "for no tenant"
	if k.Tenant != "" {
		whose = fmt.Sprintf("for tenant %q", k.Tenant)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "headway: key %s with the scope %s %s; it is not shown again\n", k.ID, k.Scope, whose)
	_, err := fmt.Fprintln(cmd.OutOrStdout(), made.Text)
	return err
}

func keyListCommand() *cobra.Command {
	var tenant string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List keys, those that are no longer valid for 90 days",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				list, err := st.APIKeys(ctx, store.KeyQuery{All: !cmd.Flags().Changed("tenant"), Tenant: tenant})
				if err != nil {
					return failed(err, "")
				}
				rows := []keyRow{}
				for i := range list {
					rows = append(rows, newKeyRow(&list[i], time.Now()))
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"keys": rows})
				}
				return printKeys(cmd.OutOrStdout(), rows)
			})
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "only those of this `tenant`")
	config.RegisterStore(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printKeys(w io.Writer, rows []keyRow) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no keys; headway admin key create makes one")
		return err
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "KEY\tTENANT\tSCOPE\tSTATE\tCREATED\tEXPIRES\tUSED\tNAME")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Key, oneLine(r.Tenant), r.Scope, r.State, shortTime(r.Created), shortTime(r.Expires), shortTime(r.Used), oneLine(r.Name))
	}
	return tab.Flush()
}

func keyRotateCommand() *cobra.Command {
	var grace time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rotate KEY",
		Short: "Replace a key; the old one stays valid for a while",
		Long: `Make a key like one that there is, for the same tenant, with the same scope, name
and length of life. The old one stays valid for --grace, so that whoever uses it can
change over.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if grace < 0 {
				return usage(fmt.Errorf("a grace of %s", grace), "--grace is a time from now; 0 ends the old key at once")
			}
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				old, err := st.APIKey(ctx, args[0])
				if err != nil {
					return keyFailure(err)
				}
				now := time.Now().UTC()
				k := store.APIKey{Tenant: old.Tenant, Name: old.Name, Scope: old.Scope, CreatedAt: now}
				if !old.ExpiresAt.IsZero() {
					k.ExpiresAt = now.Add(old.ExpiresAt.Sub(old.CreatedAt))
				}
				made := apikey.New()
				k.ID, k.Sum = made.ID, made.Sum()
				o := store.Order{What: "rotate-key", Tenant: k.Tenant, About: old.ID, Before: keyInWords(&old, now), After: "key " + k.ID + ": " + keyInWords(&k, now)}
				err = ordered(ctx, st, o, func(ctx context.Context) error { return st.RotateKey(ctx, now, old.ID, now.Add(grace), k) })
				if err != nil {
					return keyFailure(err)
				}
				return printKey(cmd, &k, made, asJSON)
			})
		},
	}
	cmd.Flags().DurationVar(&grace, "grace", rotateGrace, "how long the old key stays valid")
	config.RegisterStore(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}

func keyRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke KEY",
		Short: "End a key at once, for good",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				now := time.Now().UTC()
				k, err := st.APIKey(ctx, args[0])
				if err == nil {
					o := store.Order{What: "revoke-key", Tenant: k.Tenant, About: k.ID, Before: keyInWords(&k, now), After: "revoked"}
					err = ordered(ctx, st, o, func(ctx context.Context) error { return st.RevokeKey(ctx, now, k.ID) })
				}
				if err != nil {
					return keyFailure(err)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "key %s is revoked\n", oneLine(args[0]))
				return err
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	return cmd
}

// keyInWords is what a key opens, for the log.
func keyInWords(k *store.APIKey, now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !k.Valid(now):
		return "expired"
	case k.ExpiresAt.IsZero():
		return string(k.Scope)
	default:
		return string(k.Scope) + " until " + k.ExpiresAt.UTC().Format(time.RFC3339)
	}
}
