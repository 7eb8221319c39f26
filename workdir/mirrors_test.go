package workdir

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/verify/checksum"
	"github.com/tofureg/tofureg/workdir/internal/must"
	"github.com/tofureg/tofureg/workdir/internal/terraformtest"
)

// hashesOf returns the hashes of the archive of a provider with these schemes.
func hashesOf(t *testing.T, typ, schemes string) (list []string) {
	t.Helper()
	archive := string(archiveOf(typ, "1.0.0"))
	_, h1, err := checksum.H1Zip(t.Context(), strings.NewReader(archive), int64(len(archive)), checksum.Limits{})
	must.Do(t, err)
	for _, h := range []checksum.Hash{h1, must.Get(checksum.ZH(t.Context(), strings.NewReader(archive)))(t)} {
		if strings.Contains(schemes, h.Scheme()) {
			list = append(list, h.String())
		}
	}
	return list
}

// statedBy are providers, with the schemes of the hashes that their network mirror states. "local" is in a directory.
var statedBy = []struct{ typ, schemes string }{{"none", ""}, {"h1", "h1"}, {"zh", "zh"}, {"both", "h1 zh"}, {"local", ""}}

// hashMirror serves these providers.
func hashMirror(t *testing.T, here string) *httptest.Server {
	documents := map[string][]byte{}
	for _, p := range statedBy {
		archive := map[string]any{"url": "1.0.0.zip", "hashes": hashesOf(t, p.typ, p.schemes)}
		documents[p.typ+"/index.json"] = []byte(`{"versions":{"1.0.0":{}}}`)
		documents[p.typ+"/1.0.0.json"] = must.Get(json.Marshal(map[string]any{"archives": map[string]any{here: archive}}))(t)
		documents[p.typ+"/1.0.0.zip"] = archiveOf(p.typ, "1.0.0")
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".json") {
			w.Header().Set("Content-Type", "application/json")
		}
		w.Write(documents[path.Base(path.Dir(r.URL.Path))+"/"+path.Base(r.URL.Path)])
	}))
	t.Cleanup(server.Close)
	return server
}

// TestMirrors: the lock file is that of the client for packages without signatures, with each kind of hash that a
// mirror states, beside each kind of locked hash.
func TestMirrors(t *testing.T) {
	t.Parallel()
	here := addrs.CurrentPlatform().String()
	server := hashMirror(t, here)
	for _, locked := range []string{"", "h1", "zh"} {
		terraformtest.Each(t, func(t *testing.T, program string) {
			theirs, ours, mirror := terraformtest.New(t, program), t.TempDir(), filepath.ToSlash(t.TempDir())
			theirs.Trust(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
			theirs.Configure(t, fmt.Sprintf(`provider_installation {
  filesystem_mirror {
    path = %q
  }
  network_mirror {
    url     = %q
    exclude = ["acme/local"]
  }
}`, mirror, server.URL+"/"))
			system := cliconfig.System{Home: ours, Dir: ours, Terraform: theirs.Name() == "terraform", Environ: []string{"TF_CLI_CONFIG_FILE=" + filepath.Join(theirs.Dir, "cli.tfrc")}}
			config := must.Get(cliconfig.Load(t.Context(), system))(t)
			config.HTTP = server.Client()
			host := config.DefaultHost().String()
			write(t, mirror, map[string]string{host + "/acme/local/terraform-provider-local_1.0.0_" + here + ".zip": string(archiveOf("local", "1.0.0"))})

			text, lock := "terraform {\n  required_providers {\n", ""
			for _, p := range statedBy {
				text += fmt.Sprintf("    %s = { source = \"acme/%[1]s\" }\n", p.typ)
				for _, hash := range hashesOf(t, p.typ, locked) {
					lock += fmt.Sprintf("\nprovider \"%s/acme/%s\" {\n  version = \"1.0.0\"\n  hashes = [\n    %q,\n  ]\n}\n", host, p.typ, hash)
				}
			}
			for _, dir := range []string{theirs.Dir, ours} {
				write(t, dir, map[string]string{"main.tf": text + "  }\n}\n", ".terraform.lock.hcl": lock})
			}
			theirs.Run(t, "init", "-no-color", "-input=false")
			want := stateOf(t, theirs.Dir, nil)
			got := stateOf(t, ours, prepare(t.Context(), New(config, ours)))
			if different := differences(got, want); len(different) > 0 || got.lock == "" {
				t.Errorf("Prepare with mirrors and locked %q: %v\n%s", locked, different, got.lock)
			}
		})
	}
}
