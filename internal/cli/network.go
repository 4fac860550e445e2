package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"headway/fetch"
	"headway/fetch/guard"
)

// networkFlags are the words that every command which goes out has.
type networkFlags struct {
	contact      string
	allowPrivate []string
	resolver     string
	ip           string
}

func (f *networkFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.contact, "contact", "", "who to name in every request: a mail `address` or web page ("+contactEnv+")")
	fs.StringArrayVar(&f.allowPrivate, "allow-private", nil, "may go to these private addresses, as `CIDR[:PORT,…]`; they count as owned")
	fs.StringVar(&f.resolver, "resolver", "", "name server to ask, as `IP:PORT`")
	fs.StringVar(&f.ip, "ip", string(guard.Auto), "address `family`: auto, 4 or 6")
}

// client makes the one door to the network, and says what a person should know
// about it.
func (f *networkFlags) client(stderr io.Writer) (*fetch.Client, error) {
	cfg := guard.Config{Resolver: f.resolver, IP: guard.Family(f.ip)}
	for _, text := range f.allowPrivate {
		r, err := guard.ParseRange(text)
		if err != nil {
			return nil, usage(fmt.Errorf("--allow-private: %w", err), "a range looks like 127.0.0.0/8:8780 or 10.0.0.0/8")
		}
		cfg.AllowPrivate = append(cfg.AllowPrivate, r)
	}
	dialer, err := guard.New(cfg)
	if err != nil {
		return nil, usage(err, "--resolver takes IP:PORT, such as 127.0.0.1:53, and --ip auto, 4 or 6")
	}
	contact, err := findContact(f.contact)
	if err != nil {
		return nil, err
	}
	client, err := fetch.New(fetch.Config{
		Dialer:   dialer,
		Identity: fetch.Identity{Product: productToken, Version: version, Contact: contact},
	})
	if err != nil {
		return nil, usage(err, "")
	}
	if len(cfg.AllowPrivate) > 0 {
		fmt.Fprintf(stderr, "headway: warning: may go to private addresses: %s\n", oneLine(strings.Join(f.allowPrivate, " ")))
	}
	if warning := guard.ProxyWarning(os.Getenv); warning != "" {
		fmt.Fprintf(stderr, "headway: warning: %s\n", oneLine(warning))
	}
	return client, nil
}
