package layout_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestThreats checks that each row of docs/threats.md names a test, and that each named test exists.
func TestThreats(t *testing.T) {
	t.Parallel()
	rows := shownBy(t, "docs/threats.md", false)
	if rows < 20 {
		t.Errorf("found %d rows in docs/threats.md, want at least 20", rows)
	}
}

// TestLacks checks that each row about what tofureg lacks names a test or a file that shows it, and that the
// section has no other list.
func TestLacks(t *testing.T) {
	t.Parallel()
	_, section, found := strings.Cut(readFile(t, "docs/comparison.md"), "\n## What tofureg lacks\n")
	if !found || strings.Contains(section, "\n- ") || strings.Contains(section, "\n## ") {
		t.Errorf("the section %q must be the last one, and its list a table", "What tofureg lacks")
	}
	if rows := shownBy(t, "docs/comparison.md", true); rows < 5 {
		t.Errorf("found %d rows, want at least 5", rows)
	}
}

// shownBy checks the last column of the tables whose last column has the heading "shown by": it names tests that exist,
// or, with files, files that exist. It returns the number of rows.
func shownBy(t *testing.T, file string, files bool) (rows int) {
	t.Helper()
	named := regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)\\w+)`")
	paths := regexp.MustCompile("`(\\.ci/\\w+)`|\\]\\((\\w+\\.md)\\)")
	inTable := false
	for line := range strings.Lines(readFile(t, file)) {
		switch line = strings.TrimSpace(line); {
		case strings.HasSuffix(line, "shown by |"):
			inTable = true
			continue
		case !strings.HasPrefix(line, "|"):
			inTable = false
		}
		if !inTable || strings.HasPrefix(line, "|---") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		last := cells[len(cells)-1]
		tests := named.FindAllStringSubmatch(last, -1)
		for _, test := range tests {
			if !hasTest(t, test[1], test[2]) {
				t.Errorf("%s: package %s has no %s", file, test[1], test[2])
			}
		}
		// TestMarkdownLinks follows links.
		named := paths.FindAllStringSubmatch(last, -1)
		for _, p := range named {
			if _, err := os.Stat(filepath.Join(root, p[1])); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		if len(tests) == 0 && (!files || len(named) == 0) {
			t.Errorf("%s: nothing that exists is named in: %s", file, line)
		}
	}
	return rows
}

// hasTest reports whether a test file in the directory of a package declares the function.
func hasTest(t *testing.T, pkg, function string) bool {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*_test.go")))(t)
	for _, file := range files {
		if strings.Contains(string(must.Get(os.ReadFile(file))(t)), "\nfunc "+function+"(") {
			return true
		}
	}
	return false
}

// endsShownBy has the functions with a context, by the test that shows that they return soon after it has
// ended, or by why they have only a few steps, which do not wait.
var endsShownBy = map[string]string{
	"verify.TestJudgingEnds":                "verify.CheckedSums.JudgeStated verify.Examination.Archive verify.Examination.H1 verify.Policy.Judge verify.Policy.JudgeOffer",
	"testkit/storagetest.TestStorageMemory": "storage.Memory.Delete storage.Memory.List storage.Memory.Open storage.Memory.Stat storage.Memory.Write",
	"transport/fetch.TestEnds":              "transport/fetch.Document transport/fetch.Open",
	"module/manifest.TestEnds":              "module/manifest.Create module/manifest.Dir.Close module/manifest.Dir.Commit module/manifest.Dir.Hash",
	"auth.TestHelperLeavesNoChild":          `auth.Helper.Forget auth.Helper.Save auth.Helper.Token cliconfig.Config.TokenOrigin`,
	"disco/login.TestExchangeIsCancelled":   "disco/login.Client.Login",
	"cliconfig.TestPipeEndsWithTheContext":  "cliconfig.Load",
	"internal/testing/hostile.TestContextWins": `disco.Client.Discover mirrorclient.Client.Open mirrorclient.Client.ProviderPackage
		mirrorclient.Client.ProviderVersions module/registry.Client.ModuleLocation module/registry.Client.ModuleVersions module/registry.Client.OpenModule regclient.Client.Evidence regclient.Client.ModuleLocation
		regclient.Client.ModuleVersions regclient.Client.Open regclient.Client.OpenModule regclient.Client.ProviderPackage
		regclient.Client.ProviderVersions`,
	"internal/testing/hostile.TestEnds": `auth.CredentialsFile.Forget auth.CredentialsFile.Save serve/mirrordir.Mirror.AddLocked
		serve/mirrordir.Mirror.All serve/mirrordir.Mirror.Check serve/mirrordir.Mirror.ListedVersions
		serve/mirrordir.Mirror.ProviderVersions serve/mirrordir.Mirror.Reindex
		serve/mirrordir.Mirror.Remove serve/mirrordir.Mirror.Sweep module.Cache.Prune module.Download module.DownloadAll provider.Download
		provider/hashstore.Dir.Prune provider/install.Dir.Install provider/install.Dir.Lookup provider/install.Dir.Place
		provider/install.Dir.Prune provider/install.Dir.PruneUnused provider/install.Installer.Plan provider/install.CheckEntry provider/install.CheckPlatforms
		transport/doccache.Transport.RoundTrip verify.Policy.Check verify/checksum.H1Dir verify/checksum.H1Zip
		verify/checksum.L1Dir verify/checksum.ZH`,
	"internal/testing/hostile.TestEndsInAStall": `serve/mirrordir.Mirror.Add serve/mirrordir.Mirror.AddArchive serve/mirrorserve.Cache.Open
		serve/mirrorserve.Cache.ProviderPackage provider.Hashes provider.Receive provider/install.Installer.Ensure
		provider/install.Installer.Lock`,
	"cooldown.TestEnds": `cooldown.Ledger.FirstSeen cooldown.Ledger.Record cooldown.Modules.ModuleVersions cooldown.Providers.Filter
		cooldown.Providers.ProviderVersions`,
	"testkit/storagetest.TestDir": `storage.Dir.Delete storage.Dir.List storage.Dir.Lock storage.Dir.Open storage.Dir.Stage storage.Dir.Stat
		storage.Dir.Write storage.Stage storage.Staged.Commit`,
	"testkit/storagetest.TestEnds":        "testkit/storagetest.RaceWrites testkit/storagetest.TestStore",
	"testkit/storagetest.TestServingEnds": "testkit/storagetest.TestMirror testkit/storagetest.TestPublish testkit/storagetest.TestServer",
	"storage/bucket.TestEnds":             "storage/bucket.Download storage/bucket.List",
	"serve/mirrorserve.TestCacheWaitsForAnySource": `serve/mirrorserve.Cache.ListedArchives serve/mirrorserve.Cache.ListedVersions
		serve/mirrorserve.Cache.ProviderVersions`,
	"serve/mirrorserve.TestClientsLeaveWhileJudged": "serve/mirrorserve.Handler.ServeHTTP",
	"module.TestContext":                            "module.Fetchers.FetchModule",
	"provider.TestCancelBeforeTheVerdict":           "provider.Received.Judge",
	"provider.TestHashesCancelled":                  "provider.Limiter.Acquire",
	"provider.TestSearchEndsWithContext": `
		provider.Find provider.Multi.Evidence provider.Multi.Open provider.Multi.ProviderPackage provider.Multi.ProviderVersions`,
	"testkit/regcheck.TestExamineHangs": "testkit/regcheck.Examine",
	"serve/regserve.TestServerEnds":     "serve/regserve.Handler.ServeHTTP",
	"transport/throttle.TestContext":    "transport/throttle.Transport.RoundTrip",
	"calls a source": `auth.Lookup cooldown.Modules.ModuleLocation cooldown.Modules.OpenModule cooldown.Providers.Evidence
		cooldown.Providers.Open cooldown.Providers.ProviderPackage`,
	"calls a store":                "disco/login.Client.Logout",
	"makes no request":             "mirrorclient.Client.Evidence",
	"opens one file":               "serve/mirrordir.Mirror.Open",
	"reads a file of limited size": `auth.CredentialsFile.Token provider/hashstore.Dir.Hashes`,
	"asks the store for a URL":     "serve/mirrordir.Mirror.ArchiveLink",
	"reads one document":           "serve/mirrordir.Mirror.ListedArchives",
	"serve/regdir.TestEnds": `serve/regdir.Registry.All serve/regdir.Registry.Check serve/regdir.Registry.Releases serve/regdir.Registry.CopyModules serve/regdir.Registry.Evidence serve/regdir.Registry.ModuleLocation
		serve/regdir.Registry.ModuleVersions serve/regdir.Registry.Open serve/regdir.Registry.OpenModule
		serve/regdir.Registry.ProviderPackage serve/regdir.Registry.ProviderVersions
		serve/regdir.Registry.PublishModule serve/regdir.Registry.PublishProvider
		serve/regdir.Registry.RemoveModule serve/regdir.Registry.RemoveProvider
		serve/regdir.Registry.Sweep`,
	"reads one record": `serve/mirrordir.Mirror.Evidence serve/mirrordir.Mirror.ProviderPackage
		serve/mirrordir.Mirror.RecordedPackage serve/mirrorserve.Cache.Evidence`,
	"provider/lockfile.TestUpdateContext": `provider/lockfile.Update provider/lockfile.UpdateLenient`,
	"reads variables":                     "auth.Environment.Token",
	"writes one small file":               "provider/hashstore.Dir.StoreHashes",
}

// TestContexts checks that endsShownBy has each exported function with a context or a request, and that
// the tests exist.
func TestContexts(t *testing.T) {
	t.Parallel()
	_, list := packages(t)
	found, shown := map[string]bool{}, map[string]string{}
	for by, names := range endsShownBy {
		for name := range strings.FieldsSeq(names) {
			shown[name] = by
		}
	}
	for _, p := range list {
		if !p.public() || p.dir == "testkit/regtest" {
			continue
		}
		for _, file := range p.files {
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if ok && f.Name.IsExported() && exportedReceiver(f) && hasContext(f.Type) {
					found[p.dir+nameOf(f)] = true
				}
			}
		}
	}
	for name := range found {
		by, ok := shown[name]
		if !ok {
			t.Errorf("%s has a context; name the test in endsShownBy that shows that it ends with it", name)
		}
		if pkg, test, ok := strings.Cut(by, ".Test"); ok && !hasTest(t, pkg, "Test"+test) {
			t.Errorf("%s: package %s has no Test%s", name, pkg, test)
		}
	}
	if len(found) != len(shown) {
		t.Errorf("%d exported functions have a context, endsShownBy has %d", len(found), len(shown))
	}
}

// hasContext reports whether a parameter is a context or a request.
func hasContext(f *ast.FuncType) bool {
	for _, field := range f.Params.List {
		x := field.Type
		if star, ok := x.(*ast.StarExpr); ok {
			x = star.X
		}
		if sel, ok := x.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Context" || sel.Sel.Name == "Request") {
			return true
		}
	}
	return false
}

// nameOf returns ".Function" or ".Type.Method".
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return "." + f.Name.Name
	}
	x := f.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	switch generic := x.(type) {
	case *ast.IndexExpr:
		x = generic.X
	case *ast.IndexListExpr:
		x = generic.X
	}
	return "." + x.(*ast.Ident).Name + "." + f.Name.Name
}
