"""The tables of `ctx.chunking.languages`: names, extensions and classes of languages.

Data only. The extensions follow GitHub's linguist; an extension of several languages goes to the commonest
one in public repositories.
"""

from __future__ import annotations

from collections.abc import Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _spread(table: Mapping[str, str]) -> dict[str, str]:
    """Invert `language -> "key key key"` to `key -> language`."""
    return {key: language for language, keys in table.items() for key in keys.split()}


EXTENSIONS: Mapping[str, str] = _spread(
    {
        "actionscript": "as",
        "ada": "adb ads ada",
        "agda": "agda",
        "apex": "cls trigger apex",
        "arduino": "ino pde",
        "asm": "asm s S nasm",
        "astro": "astro",
        "bash": "sh bash zsh ksh bats ebuild eclass command sh.in bash.in",
        "beancount": "beancount bean",
        "bibtex": "bib",
        "bicep": "bicep bicepparam",
        "bitbake": "bb bbappend bbclass",
        "bsl": "bsl os",
        "c": "c idc cats",
        "cairo": "cairo",
        "capnp": "capnp",
        "clarity": "clar",
        "clojure": "clj cljs cljc cljx edn bb.edn",
        "cmake": "cmake cmake.in",
        "cobol": "cob cbl cobol cpy ccp",
        "commonlisp": "lisp lsp cl asd ny",
        "cpp": "h cpp cc cxx c++ C hpp hh hxx h++ H ipp inl tcc tpp ixx h.in cppm txx",
        "csharp": "cs csx cake",
        "css": "css",
        "csv": "csv",
        "cuda": "cu cuh",
        "d": "d di",
        "dart": "dart",
        "dockerfile": "dockerfile containerfile",
        "dtd": "dtd",
        "elisp": "el emacs",
        "elixir": "ex exs",
        "elm": "elm",
        "embeddedtemplate": "erb ejs rhtml html.erb js.erb css.erb text.erb xml.erb",
        "erlang": "erl hrl escript app.src xrl yrl",
        "fennel": "fnl",
        "firrtl": "fir",
        "fish": "fish",
        "fortran": "f f90 f95 f03 f08 for ftn fpp F F90",
        "fsharp": "fs fsx fsscript",
        "fsharp_signature": "fsi",
        "gdscript": "gd",
        "gleam": "gleam",
        "glsl": "glsl vert frag geom comp tesc tese vs fsh vsh shader",
        "gn": "gn gni",
        "go": "go",
        "graphql": "graphql gql graphqls",
        "groovy": "groovy gradle grt gvy gsh jenkinsfile",
        "hack": "hack hhi",
        "hare": "ha",
        "haskell": "hs lhs hsc hs-boot",
        "haxe": "hx hxsl",
        "hcl": "hcl nomad tfvars",
        "heex": "heex leex",
        "hlsl": "hlsl hlsli fx cginc",
        "html": "html htm xhtml hbs handlebars mustache jinja jinja2 j2 njk html.hl inc.html tmpl.html",
        "ini": "ini cfg prefs editorconfig",
        "ispc": "ispc",
        "janet": "janet jdn",
        "java": "java jav jsh",
        "javascript": "js mjs cjs jsx es6 es jsm ssjs gs _js bones jake pac xsjs",
        "json": "json json5 jsonc geojson webmanifest topojson ipynb avsc har jsonl ndjson gltf "
        "sarif code-workspace code-snippets sublime-settings tfstate mcmeta webapp",
        "jsonnet": "jsonnet libsonnet",
        "julia": "jl",
        "kdl": "kdl",
        "kotlin": "kt kts ktm",
        "latex": "tex sty ltx cls.tex dtx bbx cbx",
        "linkerscript": "ld lds x.ld",
        "llvm": "ll",
        "lua": "lua rockspec wlua p8 nse",
        "luau": "luau",
        "make": "mk mak make mkfile am",
        "markdown": "md markdown mdown mdwn mkd mkdn mdx livemd qmd rmd workbook",
        "matlab": "matlab m.in",
        "mermaid": "mmd mermaid",
        "meson": "wrap.meson",
        "nim": "nim nims nimble",
        "ninja": "ninja",
        "nix": "nix",
        "objc": "m mm",
        "ocaml": "ml eliom ml4",
        "ocaml_interface": "mli eliomi",
        "odin": "odin",
        "org": "org",
        "pascal": "pas dpr dpk lpr pp.pas",
        "perl": "pl pm t perl al cgi psgi ph",
        "php": "php phtml php3 php4 php5 php7 phps ctp php.inc blade.php aw phpt inc",
        "po": "po pot",
        "pony": "pony",
        "powershell": "ps1 psm1 psd1",
        "prisma": "prisma",
        "properties": "properties",
        "proto": "proto",
        "puppet": "pp",
        "purescript": "purs",
        "python": "py pyi pyw pyx pxd pxi py3 gyp gypi wsgi rpy tac smk",
        "qmljs": "qml qbs",
        "query": "scm.query",
        "r": "r R rsx Rprofile",
        "racket": "rkt rktd rktl scrbl",
        "re2c": "re2c",
        "rego": "rego",
        "requirements": "requirements.txt",
        "ron": "ron",
        "rst": "rst rest rst.txt rest.txt",
        "ruby": "rb rake gemspec ru builder jbuilder podspec thor rabl rbw arb axlsx rbi",
        "rust": "rs rs.in",
        "scala": "scala sc sbt kojo",
        "scheme": "scm ss sls sps sld",
        "scss": "scss",
        "smali": "smali",
        "smithy": "smithy",
        "solidity": "sol",
        "sparql": "sparql rq",
        "sql": "sql ddl dml psql pgsql plsql pls pks pkb tsql mysql hql cql",
        "squirrel": "nut",
        "starlark": "bzl star bazel",
        "svelte": "svelte",
        "swift": "swift swiftinterface",
        "tablegen": "td",
        "tcl": "tcl tk itcl adp tm sdc xdc",
        "terraform": "tf tofu",
        "thrift": "thrift",
        "toml": "toml",
        "tsv": "tsv tab",
        "tsx": "tsx",
        "twig": "twig",
        "typescript": "ts mts cts d.ts d.mts d.cts",
        "typst": "typ",
        "udev": "rules",
        "v": "v vsh.v vv",
        "verilog": "sv svh vh veo",
        "vhdl": "vhd vhdl vhf vho",
        "vim": "vim vimrc nvimrc vmb",
        "vue": "vue",
        "wat": "wat wast",
        "wgsl": "wgsl",
        "xml": "xml xsd xsl xslt svg rss atom wsdl xaml csproj vbproj fsproj vcxproj props targets "
        "nuspec resx plist storyboard xib iml pom jelly gpx kml xmi xul ui qrc ts.xml "
        "config.xml axml sln.xml dita ditamap launch urdf xacro glade gml grxml mxml nproj "
        "osm proj ps1xml rdf scxml shproj tml wixproj wxs wxi x3d xht xlf xliff xproj xpl xpy "
        "xsp-config zcml filters slnx ruleset runsettings stylecop",
        "yaml": "yml yaml yaml-tmlanguage sublime-syntax syntax clang-format clang-tidy mir reek cff "
        "yml.j2 yaml.j2",
        "yuck": "yuck",
        "zig": "zig zon",
    }
)

NAMES: Mapping[str, str] = _spread(
    {
        "bash": ".bashrc .bash_profile .bash_aliases .bash_logout .profile .zshrc .zshenv .zprofile "
        ".zlogin .envrc .xinitrc .xprofile .xsession PKGBUILD APKBUILD bashrc zshrc gradlew "
        "mvnw configure.ac configure.in configure cshrc login profile .kshrc",
        "cmake": "CMakeLists.txt",
        "dockerfile": "Dockerfile Containerfile",
        "elisp": ".emacs Cask _emacs .spacemacs",
        "elixir": "mix.lock .formatter.exs",
        "erlang": "rebar.config rebar.lock Emakefile rebar.config.lock",
        "gitattributes": ".gitattributes",
        "gitignore": ".gitignore .dockerignore .npmignore .eslintignore .prettierignore .ctxignore "
        ".helmignore .stylelintignore .vscodeignore .gcloudignore .ignore .hgignore "
        ".cfignore .rgignore",
        "gn": ".gn",
        "gomod": "go.mod go.work",
        "gosum": "go.sum go.work.sum",
        "groovy": "Jenkinsfile",
        "ini": ".editorconfig .gitconfig .gitmodules .npmrc .pylintrc .flake8 .coveragerc setup.cfg "
        "tox.ini .buckconfig pylintrc mypy.ini pytest.ini .pypirc .hgrc .gitlint",
        "javascript": "Jakefile",
        "json": ".babelrc .eslintrc .jshintrc .prettierrc .swcrc .bowerrc .stylelintrc "
        ".watchmanconfig .lintstagedrc .arcconfig composer.lock Pipfile.lock flake.lock "
        ".nycrc .releaserc .htmlhintrc .tern-project .jscsrc deno.lock bun.lock "
        ".all-contributorsrc mcmod.info",
        "kconfig": "Kconfig Kconfig.debug Kconfig.projbuild",
        "linkerscript": "ld.script",
        "lua": ".luacheckrc",
        "make": "Makefile GNUmakefile makefile BSDmakefile Kbuild Makefile.am Makefile.in "
        "Makefile.inc Makefile.frag Makefile.boot Makefile.PL.in",
        "meson": "meson.build meson_options.txt meson.options",
        "perl": "cpanfile Makefile.PL ack Rexfile .latexmkrc latexmkrc",
        "php": ".php_cs .php_cs.dist artisan .php .php-cs-fixer.dist.php",
        "properties": "gradle.properties .env .env.example .env.local .env.test .env.development "
        ".env.production",
        "pymanifest": "MANIFEST.in",
        "python": "SConstruct SConscript wscript Snakefile .gclient DEPS",
        "qmldir": "qmldir",
        "r": ".Rprofile",
        "readline": ".inputrc inputrc",
        "requirements": "requirements.txt constraints.txt dev-requirements.txt requirements-dev.txt "
        "requirements.in requirements-test.txt",
        "rst": "README.rst",
        "ruby": "Gemfile Rakefile Guardfile Podfile Fastfile Vagrantfile Brewfile Capfile Appraisals "
        "Berksfile Dangerfile Thorfile Steepfile Appfile Deliverfile Snapfile Puppetfile "
        "Buildfile .irbrc .pryrc .simplecov config.ru Matchfile Scanfile Gymfile Mavenfile "
        "Cheffile gems.rb buildfile",
        "starlark": "BUILD BUILD.bazel WORKSPACE WORKSPACE.bazel MODULE.bazel Tiltfile BUCK TARGETS "
        "BUILD.bzl",
        "toml": "Cargo.lock poetry.lock Pipfile uv.lock pdm.lock Gopkg.lock Project.toml .taplo.toml "
        "pylock.toml",
        "vim": ".vimrc .gvimrc _vimrc vimrc .exrc .nvimrc",
        "xcompose": ".XCompose XCompose",
        "yaml": ".clang-format .clang-tidy .clangd .gemrc CITATION.cff .rubocop .rspec.yml "
        "glide.lock yarn.lock pixi.lock .yamllint pubspec.lock Podfile.lock .prettierrc.yaml "
        ".mdlrc.yml",
    }
)

PREFIXES: Mapping[str, str] = _spread(
    {
        "dockerfile": "Dockerfile. Containerfile.",
        "groovy": "Jenkinsfile.",
        "kconfig": "Kconfig.",
        "make": "Makefile.",
        "properties": ".env.",
        "requirements": "requirements- requirements_",
    }
)

DOCS = frozenset({"markdown", "rst", "org", "latex", "typst", "bibtex", "mermaid"})
DOCS_NAMES = _words(
    "README LICENSE LICENCE COPYING NOTICE AUTHORS CONTRIBUTORS CHANGELOG CHANGES HISTORY NEWS "
    "CONTRIBUTING INSTALL TODO MAINTAINERS CREDITS THANKS PATENTS BUGS RELEASES CODE_OF_CONDUCT "
    "SECURITY UPGRADING"
)
CONFIG = _words(
    "yaml toml ini properties gitattributes gitignore gomod gosum requirements pymanifest kconfig "
    "editorconfig ron kdl hyprlang udev xcompose readline qmldir hcl terraform meson ninja "
    "dockerfile make cmake starlark gn bitbake puppet linkerscript nginx"
)
CONFIG_NAMES = _words(
    "package.json tsconfig.json jsconfig.json composer.json .babelrc .eslintrc .prettierrc pom.xml "
    "codeowners build.xml web.config app.config nuget.config gemfile podfile procfile .htaccess "
    "nginx.conf gemfile.lock package-lock.json composer.lock jenkinsfile vagrantfile brewfile "
    "build.gradle settings.gradle build.gradle.kts settings.gradle.kts build.sbt pipfile"
)
DATA = _words("json csv tsv psv xml po pem sparql beancount gosum dtd llvm")
DATA_EXTENSIONS = _words("csv tsv dat data log out svg sum snap pem crt key patch diff map lst")

DISPLAY_NAMES: Mapping[str, str] = {
    **{
        language: language.upper()
        for language in (
            "cobol css csv cuda dtd firrtl glsl gn hcl hlsl html ini ispc json kdl matlab php ron "
            "scss sparql sql toml tsv tsx vhdl wgsl xml yaml"
        ).split()
    },
    "actionscript": "ActionScript",
    "asm": "Assembly",
    "bash": "Shell",
    "bibtex": "BibTeX",
    "bitbake": "BitBake",
    "bsl": "1C Enterprise",
    "capnp": "Cap'n Proto",
    "cmake": "CMake",
    "commonlisp": "Common Lisp",
    "cpp": "C++",
    "csharp": "C#",
    "elisp": "Emacs Lisp",
    "embeddedtemplate": "Embedded template",
    "fsharp": "F#",
    "fsharp_signature": "F# signature",
    "gdscript": "GDScript",
    "gitattributes": "Git attributes",
    "gitignore": "Ignore list",
    "gomod": "Go module",
    "gosum": "Go checksums",
    "graphql": "GraphQL",
    "heex": "HEEx",
    "javascript": "JavaScript",
    "latex": "LaTeX",
    "linkerscript": "Linker script",
    "llvm": "LLVM IR",
    "make": "Makefile",
    "objc": "Objective-C",
    "ocaml": "OCaml",
    "ocaml_interface": "OCaml interface",
    "po": "Gettext catalogue",
    "powershell": "PowerShell",
    "proto": "Protocol Buffers",
    "purescript": "PureScript",
    "pymanifest": "Python manifest",
    "qmldir": "qmldir",
    "qmljs": "QML",
    "re2c": "re2c",
    "requirements": "Pip requirements",
    "rst": "reStructuredText",
    "tablegen": "TableGen",
    "typescript": "TypeScript",
    "vim": "Vim script",
    "wat": "WebAssembly",
}

LANGUAGES: frozenset[str] = frozenset(EXTENSIONS.values()) | frozenset(NAMES.values())
"""Every language that `language_of` can return."""

LINGUIST_NAMES: Mapping[str, str] = {
    **{language.replace("_", "-"): language for language in LANGUAGES},
    **{name.lower().replace(" ", "-"): language for language, name in DISPLAY_NAMES.items()},
    **_spread(
        {
            "asm": "unix-assembly",
            "bash": "zsh shellscript sh",
            "commonlisp": "lisp",
            "dockerfile": "docker",
            "embeddedtemplate": "html+erb ejs",
            "go": "golang",
            "javascript": "jsx node",
            "json": "json-with-comments json5 jupyter-notebook",
            "kotlin": "kts",
            "latex": "tex",
            "markdown": "gfm",
            "objc": "objective-c++",
            "php": "html+php blade",
            "properties": "java-properties",
            "proto": "protobuf protocol-buffer",
            "python": "cython",
            "scss": "less",
            "sql": "plpgsql plsql tsql",
            "starlark": "bazel",
            "verilog": "systemverilog",
            "vim": "viml",
            "xml": "svg",
        }
    ),
}
"""Languages by the names that linguist has for them, in lower case, with hyphens for spaces."""
