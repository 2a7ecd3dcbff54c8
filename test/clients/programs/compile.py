"""Compiles C# with Roslyn inside the .NET runtime: compile.py OUT.dll LIBRARIES SOURCE.cs…

LIBRARIES is a folder with Roslyn and Newtonsoft.Json. The program runs by `dotnet OUT.dll`; the path of dotnet is the last
line of the output. Warnings and errors of the compiler go to standard error.
"""

import glob
import os
import shutil
import sys

import pythonnet
from dnv.net import runtime

out, libraries, *sources = sys.argv[1:]
root = os.path.join(list(runtime.__path__)[0], ".net")
config = os.path.splitext(out)[0] + ".runtimeconfig.json"
with open(config, "w", encoding="utf-8") as file:
    file.write('{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "8.0.0"}}}')
pythonnet.load("coreclr", dotnet_root=root, runtime_config=config)

import clr  # noqa: E402  There is no clr before the runtime is loaded.

clr.AddReference(os.path.join(libraries, "Microsoft.CodeAnalysis.dll"))
clr.AddReference(os.path.join(libraries, "Microsoft.CodeAnalysis.CSharp.dll"))

from Microsoft.CodeAnalysis import (  # noqa: E402
    DiagnosticSeverity,
    MetadataReference,
    NullableContextOptions,
    OutputKind,
    SyntaxTree,
)
from Microsoft.CodeAnalysis.CSharp import (  # noqa: E402
    CSharpCompilation,
    CSharpCompilationOptions,
    CSharpSyntaxTree,
)
from System.Collections.Generic import List  # noqa: E402
from System.IO import File  # noqa: E402
from System.Reflection import AssemblyName  # noqa: E402

references = List[MetadataReference]()
json = os.path.join(libraries, "Newtonsoft.Json.dll")
for path in [*glob.glob(os.path.join(root, "shared/Microsoft.NETCore.App/*/*.dll")), json]:
    try:
        AssemblyName.GetAssemblyName(path)
    except Exception:  # A library of machine code.
        continue
    references.Add(MetadataReference.CreateFromFile(path))
trees = List[SyntaxTree]()
for path in sources:
    with open(path, encoding="utf-8-sig") as file:
        trees.Add(CSharpSyntaxTree.ParseText(file.read(), None, path))
# As the generated project says: <Nullable>annotations</Nullable>.
options = CSharpCompilationOptions(OutputKind.ConsoleApplication).WithNullableContextOptions(
    NullableContextOptions.Annotations
)
stream = File.Create(out)
made = CSharpCompilation.Create("client", trees, references, options).Emit(stream)
stream.Close()
shutil.copy(json, os.path.dirname(out))
for found in made.Diagnostics:
    if found.Severity in (DiagnosticSeverity.Warning, DiagnosticSeverity.Error):
        print(found, file=sys.stderr)
# Last: the package of the runtime prints lines of its own.
print(os.path.join(root, "dotnet"))
sys.exit(0 if made.Success else 1)
