package layout_test

import (
	"go/ast"
	"strings"
	"testing"
)

// endsShownBy names the test that shows that a function returns soon after its context has ended, or
// says that it has only a few steps, which do not wait.
var endsShownBy = map[string]string{
	"auth.Cache.Token":                                "internal/flight.TestLastCallersLeavingStopsTheWork",
	"auth.CredentialsFile.Forget":                     "internal/hostile.TestEnds", // as Save
	"auth.CredentialsFile.Save":                       "internal/hostile.TestEnds",
	"auth.CredentialsFile.Token":                      "reads a file of limited size",
	"auth.Environment.Token":                          "reads variables",
	"auth.Helper.Forget":                              "auth.TestHelperLeavesNoChild",
	"auth.Helper.Save":                                "auth.TestHelperLeavesNoChild",
	"auth.Helper.Token":                               "auth.TestHelperLeavesNoChild",
	"auth.Lookup":                                     "calls a source",
	"auth/login.Client.Login":                         "auth/login.TestExchangeIsCancelled",
	"auth/login.Client.Logout":                        "calls a store",
	"cliconfig.Config.TokenOrigin":                    "auth.TestHelperLeavesNoChild",
	"disco.Client.Discover":                           "internal/hostile.TestContextWins",
	"mirrorclient.Client.Evidence":                    "makes no request",
	"mirrorclient.Client.Open":                        "internal/hostile.TestContextWins",
	"mirrorclient.Client.ProviderPackage":             "internal/hostile.TestContextWins",
	"mirrorclient.Client.ProviderVersions":            "internal/hostile.TestContextWins",
	"mirrorclient/mirrordir.Mirror.Add":               "internal/hostile.TestEndsInAStall",
	"mirrorclient/mirrordir.Mirror.AddArchive":        "internal/hostile.TestEndsInAStall", // with mirrorserve.Cache
	"mirrorclient/mirrordir.Mirror.AddLocked":         "internal/hostile.TestEnds",         // as Add
	"mirrorclient/mirrordir.Mirror.All":               "internal/hostile.TestEnds",
	"mirrorclient/mirrordir.Mirror.Check":             "internal/hostile.TestEnds",
	"mirrorclient/mirrordir.Mirror.Evidence":          "reads one record",
	"mirrorclient/mirrordir.Mirror.ListedArchives":    "reads one document",
	"mirrorclient/mirrordir.Mirror.ListedVersions":    "internal/hostile.TestEnds",
	"mirrorclient/mirrordir.Mirror.Open":              "opens one file",
	"mirrorclient/mirrordir.Mirror.ProviderPackage":   "reads one record",
	"mirrorclient/mirrordir.Mirror.ProviderVersions":  "internal/hostile.TestEnds",
	"mirrorclient/mirrordir.Mirror.RecordedPackage":   "reads one record",
	"mirrorclient/mirrordir.Mirror.Reindex":           "internal/hostile.TestEnds",
	"mirrorclient/mirrordir.Mirror.Remove":            "internal/hostile.TestEnds",
	"mirrorclient/mirrordir.Mirror.Stage":             "creates one file",
	"mirrorclient/mirrordir/dirtest.TestStorage":      "mirrorclient/mirrordir/dirtest.TestEnds",
	"mirrorclient/mirrorserve.Cache.Evidence":         "reads one record",
	"mirrorclient/mirrorserve.Cache.Open":             "internal/hostile.TestEndsInAStall",
	"mirrorclient/mirrorserve.Cache.ProviderPackage":  "internal/hostile.TestEndsInAStall",
	"mirrorclient/mirrorserve.Cache.ProviderVersions": "mirrorclient/mirrorserve.TestCacheWaitsForAnySource",
	"mirrorclient/mirrorserve.Handler.ServeHTTP":      "mirrorclient/mirrorserve.TestClientsLeaveWhileJudged",
	"module.Download":                                 "internal/hostile.TestEnds",
	"module.DownloadAll":                              "internal/hostile.TestEnds",
	"module.DownloadLocation":                         "internal/hostile.TestEnds",
	"module.Fetchers.FetchModule":                     "module.TestContext",
	"provider.Download":                               "internal/hostile.TestEnds",
	"provider.Find":                                   "provider.TestSearchEndsWithContext",
	"provider.FirstOf.Evidence":                       "provider.TestSearchEndsWithContext",
	"provider.FirstOf.Open":                           "provider.TestSearchEndsWithContext",
	"provider.FirstOf.ProviderPackage":                "provider.TestSearchEndsWithContext",
	"provider.FirstOf.ProviderVersions":               "provider.TestSearchEndsWithContext",
	"provider.Limiter.Acquire":                        "provider.TestHashesCancelled",
	"provider.Hashes":                                 "internal/hostile.TestEndsInAStall",
	"provider.Multi.Evidence":                         "provider.TestSearchEndsWithContext",
	"provider.Multi.Open":                             "provider.TestSearchEndsWithContext",
	"provider.Multi.ProviderPackage":                  "provider.TestSearchEndsWithContext",
	"provider.Multi.ProviderVersions":                 "provider.TestSearchEndsWithContext",
	"provider.Receive":                                "internal/hostile.TestEndsInAStall", // with Download
	"provider.Received.Judge":                         "provider.TestCancelBeforeTheVerdict",
	"provider/hashstore.Dir.Hashes":                   "reads a file of limited size",
	"provider/hashstore.Dir.Prune":                    "internal/hostile.TestEnds",
	"provider/hashstore.Dir.StoreHashes":              "writes one small file",
	"provider/install.Dir.Install":                    "internal/hostile.TestEnds",
	"provider/install.Dir.Lookup":                     "internal/hostile.TestEnds",
	"provider/install.Dir.Place":                      "internal/hostile.TestEnds",
	"provider/install.Dir.Prune":                      "internal/hostile.TestEnds",
	"provider/install.Installer.Ensure":               "internal/hostile.TestEndsInAStall",
	"provider/install.Installer.Plan":                 "internal/hostile.TestEnds",
	"regclient.Client.Evidence":                       "internal/hostile.TestContextWins",
	"regclient.Client.ModuleLocation":                 "internal/hostile.TestContextWins",
	"regclient.Client.ModuleVersions":                 "internal/hostile.TestContextWins",
	"regclient.Client.Open":                           "internal/hostile.TestContextWins",
	"regclient.Client.OpenModule":                     "internal/hostile.TestContextWins",
	"regclient.Client.ProviderPackage":                "internal/hostile.TestContextWins",
	"regclient.Client.ProviderVersions":               "internal/hostile.TestContextWins",
	"regclient/regcheck.Examine":                      "regclient/regcheck.TestExamineHangs",
	"regclient/regserve.Handler.ServeHTTP":            "regclient/regserve.TestServerEnds",
	"transport/doccache.Transport.RoundTrip":          "internal/hostile.TestEnds",
	"transport/doccache.Transport.RoundTripWaiting":   "transport/doccache.TestContext",
	"transport/throttle.Transport.RoundTrip":          "transport/throttle.TestContext",
	"transport/throttle.Transport.RoundTripWaiting":   "transport/throttle.TestContext",
	"verify.Policy.Check":                             "internal/hostile.TestEnds",
	"verify.Policy.JudgeArchive":                      "internal/hostile.TestEnds", // with Check
	"verify/checksum.H1Dir":                           "internal/hostile.TestEnds",
	"verify/checksum.H1Zip":                           "internal/hostile.TestEnds",
	"verify/checksum.ZH":                              "internal/hostile.TestEnds",
}

// TestContexts checks that endsShownBy has each exported function with a context or a request, and that
// the tests exist.
func TestContexts(t *testing.T) {
	t.Parallel()
	_, list := packages(t)
	found := map[string]bool{}
	for _, p := range list {
		if !p.public() || p.dir == "regclient/regtest" {
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
		shown, ok := endsShownBy[name]
		if !ok {
			t.Errorf("%s has a context; name the test in endsShownBy that shows that it ends with it", name)
		}
		if pkg, test, ok := strings.Cut(shown, ".Test"); ok && !hasTest(t, pkg, "Test"+test) {
			t.Errorf("%s: package %s has no Test%s", name, pkg, test)
		}
	}
	if len(found) != len(endsShownBy) {
		t.Errorf("%d exported functions have a context, endsShownBy has %d", len(found), len(endsShownBy))
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
	return "." + x.(*ast.Ident).Name + "." + f.Name.Name
}
