package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
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
		Short: "Create, list, rotate and revoke API keys",
		Long: `Manage keys for the API of headway serve. A key belongs to one tenant and
grants one scope: read, write (includes read) or operator (includes both, and
everything shared by all tenants). A key is printed once, when it is created;
only its hash is stored.`,
	}
	cmd.AddCommand(keyCreateCommand(), keyListCommand(), keyRotateCommand(), keyRevokeCommand())
	return cmd
}

// keyRow is a key as it is told.
type keyRow struct {
	ID        string      `json:"id"` // the public part
	Tenant    string      `json:"tenant"`
	Name      string      `json:"name,omitempty"`
	Scope     store.Scope `json:"scope"`
	State     string      `json:"state"`
	CreatedAt time.Time   `json:"created_at"`
	Expires   time.Time   `json:"expires_at,omitzero"`
	Used      time.Time   `json:"used_at,omitzero"` // last, to the hour
	Revoked   time.Time   `json:"revoked_at,omitzero"`
	Secret    string      `json:"secret,omitempty"` // the key itself, only when it is made
}

func newKeyRow(k *store.APIKey, now time.Time) keyRow {
	row := keyRow{ID: k.ID, Tenant: k.Tenant, Name: k.Name, Scope: k.Scope, State: "valid", CreatedAt: k.CreatedAt, Expires: k.ExpiresAt, Used: k.UsedAt, Revoked: k.RevokedAt}
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
		return command.Usage(err, "headway admin key list shows all keys and their states")
	default:
		return command.Failed(err, "")
	}
}

func keyCreateCommand() *cobra.Command {
	var tenant, name, scope string
	var life time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create an API key and print it once",
		Long: `Create an API key for an existing tenant. A key without --tenant is for
operators and for jobs submitted without a tenant.`,
		Example: `  headway admin key create --tenant acme --scope write --name ci
  headway admin key create --tenant acme --scope read --expires 2160h`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(store.Scopes, store.Scope(scope)) {
				return command.Usage(fmt.Errorf("invalid scope %q", scope), "choose one of read, write, operator")
			}
			if life < 0 {
				return command.Usage(fmt.Errorf("invalid duration %s for --expires", life), "give a positive duration, for example 2160h; 0 means never")
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
	cmd.Flags().StringVar(&tenant, "tenant", "", "`tenant` that the key belongs to (default: none)")
	cmd.Flags().StringVar(&name, "name", "", "display `name`")
	cmd.Flags().StringVar(&scope, "scope", string(store.ScopeRead), "`scope` of the key: read, write or operator")
	cmd.Flags().DurationVar(&life, "expires", 0, "how long the key is valid; 0 means forever")
	config.RegisterStore(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
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
		return command.Failed(err, "")
	case findTenant(list, name) < 0:
		return command.Usage(fmt.Errorf("tenant not found: %q", name), fmt.Sprintf("headway admin tenant set %s creates it", command.OneLine(name)))
	}
	return nil
}

// printKey shows a key that was made. The key alone is on the standard output, so
// that it can be piped to where it is kept.
func printKey(cmd *cobra.Command, k *store.APIKey, made apikey.Key, asJSON bool) error {
	if asJSON {
		row := newKeyRow(k, time.Now())
		row.Secret = made.Text
		return command.PrintJSON(cmd.OutOrStdout(), row)
	}
	whose := "for the operator (no tenant)"
	if k.Tenant != "" {
		whose = fmt.Sprintf("for tenant %q", k.Tenant)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "headway: created key %s with scope %s %s; store it now, it is not shown again\n", k.ID, k.Scope, whose)
	_, err := fmt.Fprintln(cmd.OutOrStdout(), made.Text)
	return err
}

func keyListCommand() *cobra.Command {
	var tenant string
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List API keys, including those that ended in the last 90 days",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				list, err := st.APIKeys(ctx, store.KeyQuery{All: !cmd.Flags().Changed("tenant"), Tenant: tenant})
				if err != nil {
					return command.Failed(err, "")
				}
				rows := []keyRow{}
				for i := range list {
					rows = append(rows, newKeyRow(&list[i], time.Now()))
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"keys": rows})
				}
				return printKeys(cmd.OutOrStdout(), rows, wide)
			})
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "list only the keys of this `tenant`")
	config.RegisterStore(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

func printKeys(w io.Writer, rows []keyRow, wide bool) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no keys; headway admin key create creates one")
		return err
	}
	tab := command.NewTable("KEY", "~TENANT", "SCOPE", "STATE", "+CREATED", "EXPIRES", "+USED", "~NAME")
	for i := range rows {
		r := &rows[i]
		tab.Add(r.ID, command.OneLine(r.Tenant), r.Scope, r.State, command.ShortTime(r.CreatedAt), command.ShortTime(r.Expires), command.ShortTime(r.Used), command.OneLine(r.Name))
	}
	return tab.Print(w, wide)
}

func keyRotateCommand() *cobra.Command {
	var grace time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rotate KEY",
		Short: "Replace an API key; the old one stays valid for a grace period",
		Long: `Create a new key with the tenant, scope, name and lifetime of an existing one.
The old key stays valid for --grace, so that its users have time to switch.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if grace < 0 {
				return command.Usage(fmt.Errorf("invalid duration %s for --grace", grace), "give a positive duration, for example 24h; 0 revokes the old key immediately")
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
	command.JSONFlag(cmd, &asJSON)
	return cmd
}

func keyRevokeCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "revoke KEY",
		Short: "Revoke an API key immediately and permanently",
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
				if asJSON {
					k.RevokedAt = now
					return command.PrintJSON(cmd.OutOrStdout(), newKeyRow(&k, now))
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "revoked key %s\n", command.OneLine(args[0]))
				return err
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
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
