package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/limit"
	"headway/store"
	"headway/store/postgres"
)

// safetyPrefix begins the settings of safety limits.
const safetyPrefix = "safety."

// readFleetSettings returns the settings of the fleet, which must be set, and refuses values of
// this process that differ from them.
func readFleetSettings(ctx context.Context, set *config.Settings, origins []config.Origin) (store.SettingsVersion, error) {
	st, err := openFleet(ctx, set, postgres.Config{})
	if err != nil {
		return store.SettingsVersion{}, err
	}
	defer st.Close()
	if err := checkClock(ctx, st, time.Now); err != nil {
		return store.SettingsVersion{}, err
	}
	v, err := st.FleetSettings(ctx)
	if err != nil {
		return v, command.Failed(err, "")
	}
	if v.Version == 0 {
		own := store.NewFleetSettings()
		own.Safety = limit.Limits{}
		for i := range origins {
			own, _ = withOwn(own, set, &origins[i])
		}
		return v, command.Usage(errors.New("the fleet has no safety limits: its database holds jobs of a version that kept them in the workers' settings"),
			"choose them, for example those set here: headway admin safety set "+setFlags(own))
	}
	for i := range origins {
		o := &origins[i]
		own, ok := withOwn(v.FleetSettings, set, o)
		if ok && own != v.FleetSettings {
			return v, command.Usage(fmt.Errorf("%s %s differs from the settings of the fleet (version %d): %s", o.Setting.Key, strings.Join(o.Values, ","), v.Version, v.FleetSettings),
				fmt.Sprintf("remove it here (%s), or change the fleet: headway admin safety set %s", o, changedFlags(v.FleetSettings, own)))
		}
	}
	return v, nil
}

// withOwn is the settings of the fleet with one value as this process has it, or unchanged and
// not ok if the value was not set, or is not one of the fleet's.
func withOwn(f store.FleetSettings, set *config.Settings, o *config.Origin) (own store.FleetSettings, ok bool) {
	switch o.Layer {
	case config.ByFlag, config.ByEnvironment, config.ByFile:
	default:
		return f, false
	}
	switch key := o.Setting.Key; {
	case key == "fleet.lease":
		f.Lease = set.Fleet.Lease
	case key == "fleet.max_running":
		f.Safety.ConcurrentCrawls = set.Fleet.MaxRunning
	case key == "store.commit_gap":
		f.CommitGap = set.Store.CommitGap
	case strings.HasPrefix(key, safetyPrefix):
		r := limit.Name(strings.TrimPrefix(key, safetyPrefix)).Rule()
		*r.At(&f.Safety) = *r.At(&set.Safety)
	default:
		return f, false
	}
	return f, true
}

// setFlags are the flags that set the main limits, lease and commit gap.
func setFlags(f store.FleetSettings) string {
	none := f
	none.Safety.Pages, none.Safety.ConcurrentCrawls, none.Safety.Time, none.Lease = -1, -1, -1, -1
	return changedFlags(none, f)
}

// changedFlags are the flags of `headway admin safety set` that change settings.
func changedFlags(from, to store.FleetSettings) string {
	var list []string
	for i := range limit.Rules {
		r := &limit.Rules[i]
		if was, is := *r.At(&from.Safety), *r.At(&to.Safety); was != is {
			text := fmt.Sprint(is)
			if r.Kind == limit.Span {
				text = time.Duration(is).String()
			}
			list = append(list, "--"+safetyFlag(r.Name)+" "+text)
		}
	}
	if from.Lease != to.Lease {
		list = append(list, "--lease "+to.Lease.String())
	}
	if from.CommitGap != to.CommitGap {
		list = append(list, "--commit-gap "+to.CommitGap.String())
	}
	return strings.Join(list, " ")
}

// safetyFlag is the flag of a safety limit.
func safetyFlag(n limit.Name) string {
	if n == limit.ConcurrentCrawls {
		return "max-concurrent"
	}
	return strings.ReplaceAll(string(n), "_", "-")
}
