package cliconfig_test

import (
	"testing"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// BenchmarkLoad reads a main file and the file of saved tokens.
func BenchmarkLoad(b *testing.B) {
	sys := exampleSystem(map[string]string{
		"home/alice/.tofurc": "plugin_cache_may_break_dependency_lock_file = true\n" + credentials("a.example.com", "xxxxxx") +
			"provider_installation {\n  network_mirror {\n    url = \"https://mirror.example.com/\"\n    include = [\"example.com/*/*\"]\n  }\n  direct {\n    exclude = [\"example.com/*/*\"]\n  }\n}\n",
		"home/alice/.terraform.d/credentials.tfrc.json": `{"credentials": {"b.example.com": {"token": "yyyyyy"}}}`,
	}, "TF_TOKEN_c_example_com=zzzzzz")
	b.ReportAllocs()
	for b.Loop() {
		must.Get(cliconfig.Load(b.Context(), sys))(b)
	}
}
