package workdir

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fsx"
)

// manifestName is the file in which the CLI looks for the modules of a configuration.
const manifestName = "modules.json"

const maxManifest = 16 << 20 // bytes

// A record is the entry of a module in the manifest.
type record struct {
	Key     string // names of the calls, joined by dots
	Source  string
	Version string `json:",omitempty"`
	Dir     string // relative to the working directory, or absolute
}

// version returns the version, or zero if the module has none.
func (r record) version() (v addrs.Version, err error) {
	if r.Version != "" {
		v, err = addrs.ParseVersion(r.Version)
	}
	return v, err
}

// A manifest has the records of modules by key.
type manifest map[string]record

// readManifest reads the manifest in a directory of modules, which may be nil.
func readManifest(store *os.Root, shown string) (manifest, error) {
	m := manifest{}
	if store == nil {
		return m, nil
	}
	data, err := files{root: store}.read(manifestName, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	var all struct{ Modules []record }
	if err := json.Unmarshal(data, &all); err != nil || len(data) > maxManifest {
		return nil, &ConfigError{Place{File: shown}, "not a manifest of modules; remove the file to install the modules again"}
	}
	for _, r := range all.Modules {
		m[r.Key] = r
	}
	return m, nil
}

// drop removes a module and those below it.
func (m manifest) drop(key string) {
	maps.DeleteFunc(m, func(k string, _ record) bool { return k == key || strings.HasPrefix(k, key+".") })
}

// write replaces the manifest unless it is the same.
func (m manifest) write(store *os.Root) error {
	records := slices.SortedFunc(maps.Values(m), func(a, b record) int { return strings.Compare(a.Key, b.Key) })
	data, err := json.Marshal(map[string][]record{"Modules": records})
	if err != nil {
		return err
	}
	if old, err := (files{root: store}).read(manifestName, maxManifest); err == nil && string(old) == string(data) {
		return nil
	}
	return fsx.WriteFileIn(store, manifestName, data, 0o644)
}
