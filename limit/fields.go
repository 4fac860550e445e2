package limit

// Fields is limits as requests and responses have them: by [Rule.Field], durations in seconds. A field
// that is missing was not set; 0 is no limit.
type Fields map[string]float64

// Fields returns the limits that are set.
func (l Limits) Fields() Fields {
	f := Fields{}
	for i := range Rules {
		if r := &Rules[i]; *r.at(&l) != 0 {
			f[r.Field()], _ = r.Name.InUnits(*r.at(&l))
		}
	}
	return f
}
