package config

import (
	"github.com/spf13/pflag"

	"headway/limit"
)

// ofPlan reports whether a limit of a job can also be set by a plan.
func ofPlan(s *Setting) bool {
	r := limit.Name(s.Key).Rule()
	return r != nil && r.Asked && r.Extent
}

// RegisterPlan adds the flags of the limits of a plan, and those that say where the
// fleet is.
func RegisterPlan(fs *pflag.FlagSet) {
	register(fs, func(s *Setting) bool {
		return ofPlan(s) || s.Key == "fleet.store" || s.Key == "fleet.schema"
	})
}

// ChangeLimits changes only the limits whose [RegisterPlan] flags were given.
func ChangeLimits(flags *pflag.FlagSet, l *limit.Limits) (err error) {
	s := Settings{Limits: *l}
	flags.Visit(func(f *pflag.Flag) {
		v, ok := f.Value.(*flagValue)
		if !ok || !ofPlan(v.setting) || err != nil {
			return
		}
		if bad := v.setting.at(&s).set(v.given); bad != nil {
			err = v.setting.refuse("--"+f.Name, bad)
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
