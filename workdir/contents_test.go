package workdir

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/workdir/internal/must"
)

// listed returns the contents of a module as lines of JSON, and the aliases that it requires.
func listed(t *testing.T, m *Module) (lines []string) {
	t.Helper()
	add := func(v any) {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		must.Do(t, e.Encode(v))
		lines = append(lines, strings.TrimSpace(text.String()))
	}
	for _, v := range m.RequiredVersions {
		add(v)
	}
	for _, v := range m.Variables {
		add(v)
	}
	for _, v := range m.Outputs {
		add(v)
	}
	for _, v := range m.ProviderConfigs {
		add(v)
	}
	for _, v := range m.Resources {
		add(v)
	}
	for _, r := range m.Providers {
		if r.Aliases != nil {
			add(r)
		}
	}
	return lines
}
