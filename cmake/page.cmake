# cmake -DFROM=dir -DTO=dir -DNAME=symbol -P page.cmake: page.html of FROM with its style and its scripts in it, as C
# (embed.cmake), and in its header PAGE_POLICY, the Content-Security-Policy under which these run and nothing else does.
# They are named by their hashes, so the page is the same for everyone.
cmake_minimum_required(VERSION 3.25)

# The policy wants base64, CMake has hexadecimal: three bytes are six digits of the one and four of the other. A hash of
# 32 bytes is filled up to 33, whose last letter stands for nothing.
function(base64 hex to)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(text "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hex}00" ${at} 6 three)
    foreach(shift 18 12 6 0)
      math(EXPR index "(0x${three} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${index} 1 letter)
      string(APPEND text ${letter})
    endforeach()
  endforeach()
  string(SUBSTRING ${text} 0 43 text)
  set(${to} "${text}=" PARENT_SCOPE)
endfunction()

file(READ ${FROM}/page.html page)
file(READ ${FROM}/page.css style)
file(READ ${FROM}/texts.js texts)
file(READ ${FROM}/page.js code)
set(script "${texts}${code}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(SHA256 style_hash "${style}")
string(SHA256 script_hash "${script}")
base64(${style_hash} style_hash)
base64(${script_hash} script_hash)

file(WRITE ${TO}/${NAME}.html "${page}")
set(FROM ${TO}/${NAME}.html)
include(${CMAKE_CURRENT_LIST_DIR}/embed.cmake)
file(APPEND ${TO}/${NAME}.h
  "#define PAGE_POLICY \\\n"
  "    \"default-src 'none'; script-src 'sha256-${script_hash}'; style-src 'sha256-${style_hash}'; \" \\\n"
  "    \"img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\"\n")
