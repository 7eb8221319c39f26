package workdir

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/workdir/internal/must"
	"github.com/tofureg/tofureg/workdir/internal/terraformtest"
)

// TestWrittenSources: the manifest has the sources as the clients write them. A client validates what Prepare has made and
// downloads nothing again, and Prepare leaves what a client has made.
func TestWrittenSources(t *testing.T) {
	t.Parallel()
	repository := repositoryOf(t, tree{files: map[string]string{"main.tf": "", "sub/main.tf": ""}})
	must.Do(t, exec.Command("git", "-C", repository, "branch", "feature/x").Run())
	local := filepath.ToSlash(t.TempDir())
	write(t, local, map[string]string{"m/main.tf": "", "my module/main.tf": ""})
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	must.Get(z.Create("sub/main.tf"))(t)
	must.Get(z.Create("main.tf"))(t)
	must.Do(t, z.Close())
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(archive.Bytes()) }))
	t.Cleanup(server.Close)
	sum := fmt.Sprintf("%X", sha256.Sum256(archive.Bytes()))
	var root strings.Builder
	for i, source := range []string{
		"git::file://REPO?depth=1&ref=v1", "git::file://REPO?ref=", "git::file://REPO?ref=feature%2Fx", "git::file://REPO?ref=feature/x",
		"git::file://REPO//sub/../sub/?ref=v1&depth=1", "git::file://REPO/../" + filepath.Base(repository),
		"URL/m.zip?archive=zip&token=a", "URL/m?token=a&archive=zip", "URL/m.zip?checksum=sha256:" + sum, "URL/m.zip?checksum=" + sum,
		"URL/m.zip?filename=x.zip", "URL/m.zip//sub/.?token=a&archive=zip", "URL/a b.zip", "URL/m.zip?x=a b",
		local + "/m/../m", local + "/m//", local + "/my module", "file://" + local + "/m/../m",
	} {
		fmt.Fprintf(&root, "module \"m%d\" {\n  source = %q\n}\n", i, strings.NewReplacer("REPO", filepath.ToSlash(repository), "URL", server.URL).Replace(source))
	}
	terraformtest.Each(t, func(t *testing.T, program string) {
		project := func() (*terraformtest.Project, *Dir) {
			p := terraformtest.New(t, program)
			p.Trust(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
			p.Write(t, "main.tf", root.String())
			config := must.Get(cliconfig.Load(t.Context(), cliconfig.System{Home: t.TempDir(), Dir: p.Dir, Terraform: p.Name() == "terraform"}))(t)
			config.HTTP = server.Client()
			return p, New(config, p.Dir)
		}
		theirs, over := project()
		theirs.Init(t)
		want := read(t, theirs.Dir, modulesJSON)
		over.Registry = nil
		must.Do(t, prepare(t.Context(), over))
		if got := read(t, theirs.Dir, modulesJSON); got != want {
			t.Errorf("Prepare after init: the manifest is\n%s\nwant it unchanged\n%s", got, want)
		}
		ours, d := project()
		result := must.Get(d.Prepare(t.Context()))(t)
		if got := read(t, ours.Dir, modulesJSON); got != want {
			t.Errorf("Prepare: the manifest is\n%s\nwant that of the client\n%s", got, want)
		}
		for _, m := range result.Modules[1:] {
			if !strings.Contains(want, strings.ReplaceAll(fmt.Sprintf(`"Source":%q`, m.Source), "&", `\u0026`)) {
				t.Errorf("Prepare: the source of %s is %q, which the client does not write", m.Key, m.Source)
			}
		}
		ours.Run(t, "validate", "-no-color")
		if out := ours.Run(t, "init", "-no-color", "-input=false"); strings.Contains(out, "Downloading") {
			t.Errorf("init after Prepare downloads: %s", out)
		}
	})
}
