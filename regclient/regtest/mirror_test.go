package regtest_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/regclient/regtest"
)

const mirrorBase = base + "/mirror/registry.example.com/acme/alpha/"

// TestMirror goes the way of a client from the base URL to an archive.
func TestMirror(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	rel := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Platforms: []string{"linux_amd64", "darwin_arm64"}})
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.10.0"})
	if reg.MirrorURL() != base+"/mirror/" {
		t.Errorf("base URL %s", reg.MirrorURL())
	}
	index := get(t, reg.Client(), mirrorBase+"index.json")
	if string(index.body) != `{"versions":{"1.10.0":{},"1.2.0":{}}}` || index.Header.Get("Content-Type") != "application/json" {
		t.Errorf("index: %s %s", index.Header, index.body)
	}
	version := get(t, reg.Client(), mirrorBase+"1.2.0.json")
	want := `{"archives":{`
	for i, platform := range []string{"darwin_arm64", "linux_amd64"} {
		want += strings.Repeat(",", i) + fmt.Sprintf(`%q:{"url":%q,"hashes":[%q,%q]}`, platform, rel.Filename(platform), rel.H1(platform), rel.ZH(platform))
	}
	if want += "}}"; string(version.body) != want || version.Header.Get("Content-Type") != "application/json" {
		t.Errorf("version: %s\n%s\nwant\n%s", version.Header, version.body, want)
	}
	zip := get(t, reg.Client(), mirrorBase+rel.Filename("linux_amd64"), "Range", "bytes=10-")
	if zip.StatusCode != 206 || !bytes.Equal(zip.body, content(t, rel, "linux_amd64")[10:]) || zip.Header.Get("Content-Type") != "application/zip" {
		t.Errorf("archive: %s %s", zip.Status, zip.Header)
	}
	for i, kind := range []regtest.Kind{regtest.MirrorIndex, regtest.MirrorVersion, regtest.Archive} {
		if got := reg.Requests()[i]; got.Kind != kind {
			t.Errorf("%v is not of the kind %v", got, kind)
		}
	}
}
