package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"headway/internal/machine"
	"headway/limit"
)

// Layer is a source of values, the strongest first.
type Layer string

// The layers.
const (
	ByJob         Layer = "job" // of a fleet
	ByFlag        Layer = "flag"
	ByEnvironment Layer = "environment"
	ByFile        Layer = "file"
	ByPreset      Layer = "preset"
	ByMachine     Layer = "machine"
	ByDefault     Layer = "default"
)

// Origin says which layer set a value.
type Origin struct {
	Setting *Setting
	Values  []string // as they would be written; several for lists
	Layer   Layer
	Source  string // "--delay", "HEADWAY_PACE_DELAY", "headway.yaml:7", "audit", "ulimit -n", or empty
}

// String names the origin: "flag --delay", "file headway.yaml:7", "default".
func (o Origin) String() string {
	if o.Source == "" {
		return string(o.Layer)
	}
	return string(o.Layer) + " " + o.Source
}

// Error is an invalid value or an unknown setting.
type Error struct {
	Key    string // the setting; empty if it is unknown
	Source string // where it was set, as in [Origin]
	Err    error
	hint   string
}

// Error names where it was set, the setting, and what is wrong.
func (e *Error) Error() string {
	if bad, ok := errors.AsType[*valueError](e.Err); ok {
		if strings.HasPrefix(e.Source, "--") || strings.HasPrefix(e.Source, EnvPrefix) {
			return bad.about(e.Source) // which names the setting as well
		}
		if e.Source != "" {
			return e.Source + ": " + bad.about(e.Key)
		}
		return bad.about(e.Key)
	}
	if e.Key == "" {
		return fmt.Sprintf("%s: %v", e.Source, e.Err)
	}
	if e.Source == "" {
		return fmt.Sprintf("%s %v", e.Key, e.Err)
	}
	return fmt.Sprintf("%s: %s %v", e.Source, e.Key, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *Error) Hint() string { return e.hint }

// fileFlag is the flag that names the file.
const fileFlag = "config"

// patienceKey is the setting with a different default for jobs.
const patienceKey = "patience"

// presetKey is the setting that others have their values from.
const presetKey = "preset"

// Register adds a flag for each setting that has one, and the flag that names
// the file.
func Register(fs *pflag.FlagSet) { register(fs, func(s *Setting) bool { return !s.Fleet }) }

// RegisterWorker adds the flags of a fleet worker: those that do not belong to a job.
func RegisterWorker(fs *pflag.FlagSet) {
	register(fs, func(s *Setting) bool {
		return s.Fleet && !s.OfJob() && !slices.Contains(clientFlags, s.Key) || slices.Contains(workerFlags, s.Key)
	})
}

// workerFlags are the settings with a worker flag.
var workerFlags = []string{"owned", "contact", "user_agent", "timeout", "allow_private", "ports", "resolver", "ip", "workers"}

// RegisterNetwork adds the flags for the contact and the network.
func RegisterNetwork(fs *pflag.FlagSet) {
	register(fs, func(s *Setting) bool { return slices.Contains(networkFlags, s.Key) })
}

// networkFlags are the settings for which every command that sends requests has a
// flag.
var networkFlags = []string{"contact", "allow_private", "ports", "resolver", "ip"}

// RegisterJob adds the flags to request a fleet job.
func RegisterJob(fs *pflag.FlagSet) {
	register(fs, func(s *Setting) bool {
		return s.OfJob() || s.Key == "seeds_file" || isClient(s)
	})
}

// RegisterClient adds the flags that say where the fleet is: its server or its
// database.
func RegisterClient(fs *pflag.FlagSet) { register(fs, isClient) }

// clientFlags are the settings of an API client.
var clientFlags = []string{"server", "key_file"}

// isClient reports whether a setting says where the fleet is.
func isClient(s *Setting) bool {
	return slices.Contains(clientFlags, s.Key) || s.Key == "fleet.store" || s.Key == "fleet.schema"
}

// RegisterServer adds the flags of an API server.
func RegisterServer(fs *pflag.FlagSet) {
	register(fs, func(s *Setting) bool { return slices.Contains(serverFlags, s.Key) })
}

// serverFlags are the settings with a flag of an API server.
var serverFlags = []string{"fleet.store", "fleet.schema", "fleet.archive", "fleet.archive_private", "allow_private", "resolver", "ip", "log.format"}

// RegisterStore adds the flags that say where the fleet's database is.
func RegisterStore(fs *pflag.FlagSet) {
	register(fs, func(s *Setting) bool { return s.Key == "fleet.store" || s.Key == "fleet.schema" })
}

func register(fs *pflag.FlagSet, which func(*Setting) bool) {
	for s := range all {
		if s.Flag == "" || !which(s) {
			continue
		}
		v := &flagValue{setting: s}
		f := fs.VarPF(v, s.Flag, "", s.Doc+choices(s))
		f.DefValue = s.Default
		if _, ok := s.at(new(Settings)).(yes); ok {
			f.NoOptDefVal = "true"
		}
	}
	fs.String(fileFlag, "", "settings `file` (default "+DefaultFile+", if it exists)")
}

// choices lists the values of a setting with a closed set.
func choices(s *Setting) string {
	w, ok := s.at(new(Settings)).(word)
	if !ok || slices.Contains([]string{"scope", "preset", "sitemaps", "log.format"}, s.Key) { // their sentence lists the values
		return ""
	}
	return ": " + strings.Join(w.words, ", ")
}

// flagValue collects the values of a flag. They are parsed in Load with all other
// layers, so that an invalid value gives the same message.
type flagValue struct {
	setting *Setting
	given   []string
	text    bool // given is the text of a file, not its name
}

func (f *flagValue) String() string { return strings.Join(f.given, " ") }

func (f *flagValue) Set(s string) error {
	if !f.setting.List() {
		f.given = nil // the last value counts
	}
	f.given, f.text = append(f.given, s), false
	return nil
}

func (f *flagValue) Type() string {
	switch f.setting.at(new(Settings)).(type) {
	case number:
		return "number"
	case span:
		return "duration"
	case size:
		return "size"
	case yes:
		return "bool"
	default:
		return "value"
	}
}

// Given returns the values of a flag, in a form that [Restore] can set again, and whether
// they are secret. set are the settings that were loaded.
func Given(f *pflag.Flag, set *Settings) (texts []string, secret bool) {
	switch v := f.Value.(type) {
	case *flagValue:
		if v.setting.hasText() {
			return v.setting.textOf(set), false
		}
		return slices.Clone(v.given), v.setting.Secret
	case pflag.SliceValue:
		return v.GetSlice(), false
	default:
		return []string{f.Value.String()}, false
	}
}

// Restore sets a flag to a value that [Given] returned.
func Restore(flags *pflag.FlagSet, name, text string) error {
	if err := flags.Set(name, text); err != nil {
		return err
	}
	if v, ok := flags.Lookup(name).Value.(*flagValue); ok {
		v.text = v.setting.hasText()
	}
	return nil
}

// given is the value of a setting in one layer.
type given struct {
	texts  []string
	source string
	text   bool // the text of a file, not its name
}

// Load reads the layers: the flags of a parsed set that [Register] was called on, the
// environment as [os.Environ] gives it, the file and the rest. The origins are in the
// order of the table. Errors are *[Error], or about reading the file.
func Load(flags *pflag.FlagSet, environ []string) (*Settings, []Origin, error) {
	own, err := ReadLayers(flags, environ)
	if err != nil {
		return nil, nil, err
	}
	return own.Load()
}

// Asked is the requested settings of a fleet job, by key, as they were written.
type Asked map[string][]string

// AskedBy collects the settings requested by flags of [RegisterJob], as they were loaded.
// A file is given as its text.
func AskedBy(flags *pflag.FlagSet, set *Settings) Asked {
	asked := Asked{}
	flags.Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(*flagValue); ok && v.setting.OfJob() {
			asked[v.setting.Key] = v.given
			if v.setting.hasText() {
				asked[v.setting.Key] = v.setting.textOf(set)
			}
		}
	})
	return asked
}

// LoadJob is [Load] for a job: its requested settings are stronger than the worker's
// own, as far as a job may set them. Nobody watches it, so its default patience is
// longer than that of a crawl on the command line.
func LoadJob(flags *pflag.FlagSet, environ []string, asked Asked) (*Settings, error) {
	own, err := ReadLayers(flags, environ)
	if err != nil {
		return nil, err
	}
	return own.Job(asked)
}

// Layers are the settings of a process in its flags, its environment and its file, read
// once. They are safe for concurrent use.
type Layers struct {
	byFlag, byEnv, byFile map[string]given

	mu       sync.Mutex
	byPreset map[string]*Settings // of jobs that set nothing else; they are not changed
}

// ReadLayers reads the flags, the environment and the file.
func ReadLayers(flags *pflag.FlagSet, environ []string) (l *Layers, err error) {
	l = &Layers{byFlag: map[string]given{}}
	flags.Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(*flagValue); ok {
			l.byFlag[v.setting.Key] = given{v.given, "--" + f.Name, v.text}
		}
	})
	if l.byEnv, err = fromEnviron(environ); err != nil {
		return nil, err
	}
	name := ""
	if f := flags.Lookup(fileFlag); f != nil {
		name = f.Value.String()
	}
	if l.byFile, err = readFile(name); err != nil {
		return nil, err
	}
	return l, nil
}

// Load loads the settings of the process, as the function [Load].
func (l *Layers) Load() (*Settings, []Origin, error) { return l.join(nil) }

// Job loads the settings of a job, as [LoadJob].
func (l *Layers) Job(asked Asked) (*Settings, error) {
	byJob := map[string]given{}
	for key, texts := range asked {
		if s := find(key); s == nil || !s.OfJob() {
			return nil, &Error{Key: key, Source: "job", Err: errors.New("cannot be set by a job")}
		}
		byJob[key] = given{texts: texts, source: "job", text: true} // a job names no files
	}
	preset := l.over(byJob)
	if _, err := preset.set(find(presetKey), nil); err != nil {
		return nil, err
	}
	base, err := l.ofPreset(preset.settings.Preset)
	if err != nil { // perhaps because of a value that the job replaces
		return l.job(byJob)
	}
	settings := base.clone()
	for s := range all {
		if g, ok := byJob[s.Key]; ok {
			if err := g.assign(s.at(settings)); err != nil {
				return nil, s.refuse(g.source, err)
			}
		}
	}
	return settings, nil
}

// ofPreset returns the settings of jobs that set nothing but this preset. They are loaded
// once: a server needs them for every job that it creates or shows. The caller clones them.
func (l *Layers) ofPreset(name string) (*Settings, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if base := l.byPreset[name]; base != nil {
		return base, nil
	}
	base, err := l.job(map[string]given{presetKey: {texts: []string{name}, source: string(ByJob)}})
	if err != nil {
		return nil, err
	}
	if l.byPreset == nil {
		l.byPreset = map[string]*Settings{}
	}
	l.byPreset[name] = base
	return base, nil
}

// job loads the settings of a job from all layers.
func (l *Layers) job(byJob map[string]given) (*Settings, error) {
	settings, origins, err := l.join(byJob)
	if err != nil {
		return nil, err
	}
	for _, o := range origins {
		if o.Setting.Key == patienceKey && o.Layer == ByDefault {
			settings.Limits.Patience = limit.ServicePatience
		}
	}
	return settings, nil
}

// join joins the layers, with those of a job as the strongest.
func (l *Layers) join(byJob map[string]given) (*Settings, []Origin, error) {
	return l.over(byJob).load()
}

// over returns a loader of the layers, with those of a job as the strongest.
func (l *Layers) over(byJob map[string]given) *loader {
	return &loader{
		settings: new(Settings),
		layers: []struct {
			layer Layer
			given map[string]given
		}{{ByJob, byJob}, {ByFlag, l.byFlag}, {ByEnvironment, l.byEnv}, {ByFile, l.byFile}},
	}
}

// fromEnviron selects our variables. An empty one counts as not set.
func fromEnviron(environ []string) (map[string]given, error) {
	byEnv := map[string]given{}
	names := map[string]*Setting{}
	for s := range all {
		names[s.Env()] = s
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, EnvPrefix) || value == "" {
			continue
		}
		s := names[name]
		if s == nil {
			known := make([]string, 0, len(names))
			for n := range names {
				known = append(known, n)
			}
			return nil, &Error{Source: "environment", Err: fmt.Errorf("unknown setting %s", name), hint: didYouMean(name, known)}
		}
		texts := []string{value}
		if s.List() {
			texts = strings.Split(value, "\n")
		}
		byEnv[s.Key] = given{texts: texts, source: name}
	}
	return byEnv, nil
}

// loader joins the layers.
type loader struct {
	settings *Settings
	layers   []struct {
		layer Layer
		given map[string]given
	}
	machine machine.Machine
	shares  machine.Division
}

// readMachine inspects the machine once: its limits do not change while a process
// runs.
var readMachine = sync.OnceValue(machine.Read)

// divide reads the totals (memory, descriptors), before the settings that are shares
// of them.
func (l *loader) divide() error {
	l.machine = readMachine()
	for _, key := range []string{machineDescriptors, machineMemory} {
		if _, err := l.set(find(key), nil); err != nil {
			return err
		}
	}
	l.shares = l.settings.Shares()
	return nil
}

func (l *loader) load() (*Settings, []Origin, error) {
	// Other values depend on the preset, so it comes first.
	if _, err := l.set(find(presetKey), nil); err != nil {
		return nil, nil, err
	}
	if err := l.divide(); err != nil {
		return nil, nil, err
	}
	values := presetValues(l.settings.Preset)
	var origins []Origin
	for s := range all {
		o, err := l.set(s, values)
		if err != nil {
			return nil, nil, err
		}
		origins = append(origins, o)
	}
	return l.settings, origins, nil
}

// set gives a setting the value of the strongest layer that has one.
func (l *loader) set(s *Setting, preset *Settings) (Origin, error) {
	at := s.at(l.settings)
	for _, layer := range l.layers {
		g, ok := layer.given[s.Key]
		if !ok {
			continue
		}
		if err := g.assign(at); err != nil {
			return Origin{}, s.refuse(g.source, err)
		}
		if m := &l.settings.Machine; s.Key == machineDescriptors && m.Descriptors > l.machine.Descriptors {
			break // no more than the machine has
		}
		return Origin{s, at.texts(), layer.layer, g.source}, nil
	}
	if s.Preset && preset != nil {
		texts := s.at(preset).texts()
		if !slices.Equal(texts, s.at(new(Settings)).texts()) || s.Default == "" {
			return Origin{s, texts, ByPreset, preset.Preset}, at.set(texts)
		}
	}
	if o, ok := l.allowed(s, at); ok {
		return o, nil
	}
	if s.Default == "" {
		return Origin{s, at.texts(), ByDefault, ""}, nil
	}
	return Origin{s, []string{s.Default}, ByDefault, ""}, at.set([]string{s.Default})
}

// allowed gives a setting its share of the machine, if that is less than the default,
// or there is no default.
func (l *loader) allowed(s *Setting, at value) (Origin, bool) {
	var n int64
	var by string
	m := l.machine
	switch {
	case s.Key == machineDescriptors:
		n, by = m.Descriptors, m.DescriptorsBy
	case s.Key == machineMemory:
		n, by = m.Memory, m.MemoryBy
	case s.share != nil:
		m.Descriptors, m.Memory = l.settings.Machine.Descriptors, l.settings.Machine.Memory
		n, by = s.share(&l.shares), m.String()
	default:
		return Origin{}, false
	}
	if s.Default != "" {
		if err := at.set([]string{s.Default}); err != nil || n >= amount(at) {
			return Origin{}, false
		}
	}
	if err := at.set([]string{strconv.FormatInt(n, 10)}); err != nil {
		return Origin{}, false
	}
	return Origin{s, at.texts(), ByMachine, by}, true
}

// refuse returns the error for an invalid value, with a hint.
func (s *Setting) refuse(source string, err error) *Error {
	hint := s.Key + ": " + s.plainDoc()
	if bad, ok := errors.AsType[*valueError](err); ok {
		hint = bad.hint
	}
	return &Error{Key: s.Key, Source: source, Err: err, hint: hint}
}

// plainDoc is the sentence of a setting without backquotes.
func (s *Setting) plainDoc() string { return strings.ReplaceAll(s.Doc, "`", "") }
