# Install, move the install elsewhere (it must be relocatable), build the outside project, run what came out.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}\n${text}")
  endif()
  set(text "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/moved)

run(${CMAKE_COMMAND} -S ${OUTSIDE} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK}/moved
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${WORK}/build)

# Under PTXWIRE_DATA only the install is searched, so that a file missing from it can't be found in the source tree.
set(ENV{PTXWIRE_DATA} ${WORK}/moved/share/ptxwire)
run(${WORK}/build/outside)
if(NOT text MATCHES "1000 sums are right after [1-9][0-9]* ps, data from [^\n]*moved/share/ptxwire/kernels")
  message(FATAL_ERROR "unexpected output of the outside program: ${text}")
endif()
unset(ENV{PTXWIRE_DATA})

# The installed binary finds the data beside itself.
run(${WORK}/moved/bin/ptxwire machine show h800-node)
