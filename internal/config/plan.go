package config

import (
	"slices"

	"github.com/spf13/pflag"

	"headway/limit"
)

// ofPlan are the limits of a job that a plan can set, too.
var ofPlan = []string{"max_pages", "max_requests", "max_time", "max_depth", "max_bytes", "max_pages_per_host"}

// RegisterPlan adds the flags of the limits of a plan, and those that say where
// the fleet is.
func RegisterPlan(fs *pflag.FlagSet) {
	register(fs, func(s *Setting) bool {
		return slices.Contains(ofPlan, s.Key) || s.Key == "fleet.store" || s.Key == "fleet.schema"
	})
}

// ChangeLimits changes the limits for which flags that [RegisterPlan] was called for
// were given, and no others.
func ChangeLimits(flags *pflag.FlagSet, l *limit.Limits) (err error) {
	s := Settings{Limits: *l}
	flags.Visit(func(f *pflag.Flag) {
		v, ok := f.Value.(*flagValue)
		if !ok || !slices.Contains(ofPlan, v.setting.Key) || err != nil {
			return
		}
		if bad := v.setting.at(&s).set(v.given); bad != nil {
			err = &Error{Key: v.setting.Key, Source: "--" + f.Name, Err: bad, hint: v.setting.Key + ": " + v.setting.plainDoc()}
		}
	})
	*l = s.Limits
	return err
}

// ParseSize reads a number of bytes, such as 64KiB or 1GiB.
func ParseSize(text string) (n int64, err error) {
	err = size{&n, 0}.set([]string{text})
	return n, err
}
